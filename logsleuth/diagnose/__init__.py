"""L4: JobView -> Diagnosis. Judgements give findings; weighing decides what caused what."""

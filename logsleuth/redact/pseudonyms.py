"""What names and addresses are replaced by: the same original always by the same, two originals never by one.

A replacement is recognised by the analysis exactly where its original is: a host that looks like one becomes one that
looks like one, an address stays in its class (loopback, link-local, private, public) and two of one subnet in one.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Container

from logsleuth.redact.learn import Names
from logsleuth.sources.hosts import could_name_host, is_pod_name, names_host

#: Addresses that are the same everywhere: this machine, no machine, link-local, Docker's bridge, masks, multicast.
_EVERYWHERE = tuple(
    ipaddress.IPv4Network(net) for net in ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.17.0.0/16", "224.0.0.0/3")
)
#: (class of addresses, where the replacements of that class begin)
_CLASSES = tuple(
    (ipaddress.IPv4Network(net), int(ipaddress.IPv4Address(first)))
    for net, first in (
        ("10.0.0.0/8", "10.0.0.0"),
        ("172.16.0.0/12", "172.18.0.0"),
        ("192.168.0.0/16", "192.168.0.0"),
        ("100.64.0.0/10", "100.64.0.0"),
    )
)
_PUBLIC = int(ipaddress.IPv4Address("198.18.0.0"))
_SUBNET = 256


def letters(number: int) -> str:
    """0 -> a, 25 -> z, 26 -> aa: counting without digits, so that no replacement looks like a number."""
    text = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("a") + digit) + text
    return text


def _looks(word: str) -> tuple[bool, bool, bool]:
    """How the analysis takes ``word`` where a host may stand."""
    return names_host(word), could_name_host(word), is_pod_name(word)


_HOST_FORMS = ("node-{number}", "job-worker-{number}", "srv{number:04}", "machine-{letters}")


class Pseudonyms:
    """Replacements, made as they are asked for; those of ``names`` first."""

    def __init__(self, names: Names) -> None:
        self.hosts: dict[str, str] = {}
        self.domains: dict[str, str] = {}
        self.users: dict[str, str] = {}
        self.buckets: dict[str, str] = {}
        self.emails: dict[str, str] = {}
        self.addresses: dict[str, str] = {}
        self.secrets: dict[str, str] = {}
        #: First words of full names, which need not be hosts themselves.
        self._heads: dict[str, str] = {}
        self._subnets: dict[int, int] = {}
        self._members: dict[int, int] = {}
        self._counts: dict[str, int] = {}
        self._taken: Container[str] = {*names.hosts, *names.users, *names.buckets, *names.homes, *names.domains}
        for domain in names.domains:
            self._domain(domain)
        for host in names.hosts:
            self.host(host)
        for user in (*names.users, *names.homes):
            self.user(user)
        for bucket in names.buckets:
            self.bucket(bucket)

    def host(self, name: str) -> str:
        """``gpu07`` -> ``node-1``; a full name keeps the relation to its short form."""
        if name not in self.hosts:
            short, dot, domain = name.partition(".")
            if dot and domain in self.domains:
                if short not in self._heads:
                    self._heads[short] = self.hosts.get(short) or self._host_like(short)
                self.hosts[name] = f"{self._heads[short]}.{self.domains[domain]}"
            else:
                self.hosts[name] = self._heads.get(name) or self._host_like(name)
        return self.hosts[name]

    def user(self, name: str) -> str:
        return self._lettered(self.users, name, "user-{}")

    def bucket(self, name: str) -> str:
        return self._lettered(self.buckets, name, "bucket-{}")

    def email(self, address: str) -> str:
        return self._lettered(self.emails, address, "mail-{}@example.com")

    def secret(self, value: str) -> str:
        return self._lettered(self.secrets, value, "redacted-{}")

    def ipv4(self, text: str) -> str:
        """Addresses of one /24 stay in one /24."""
        if text not in self.addresses:
            address = ipaddress.IPv4Address(text)
            self.addresses[text] = text if any(address in net for net in _EVERYWHERE) else self._ipv4(address)
        return self.addresses[text]

    def ipv6(self, text: str) -> str:
        """Raises ValueError where ``text`` is no address."""
        address = ipaddress.IPv6Address(text)
        mapped = address.ipv4_mapped
        key = str(address)
        if address.is_loopback or address.is_unspecified or address.is_multicast:
            return text
        if mapped is not None:
            new = ipaddress.IPv6Address(f"::ffff:{self.ipv4(str(mapped))}")
        elif key in self.addresses:
            new = ipaddress.IPv6Address(self.addresses[key])
        else:
            net = "fe80::" if address.is_link_local else "fd00::" if address.is_private else "2001:db8::"
            new = ipaddress.IPv6Address(int(ipaddress.IPv6Address(net)) + self._next(net))
            self.addresses[key] = str(new)
        return new.exploded if len(text) == len(new.exploded) else str(new)

    def _domain(self, domain: str) -> None:
        """``hpc.example.edu`` -> ``site-a.internal``; ``.example`` where the analysis would not see a host in it."""
        ending = "internal" if names_host(f"x.{domain}") else "example"
        self._lettered(self.domains, domain, f"site-{{}}.{ending}")

    def _host_like(self, name: str) -> str:
        looks = _looks(name)
        for form in _HOST_FORMS:
            new = form.format(number=1, letters="a")
            if _looks(new) == looks:
                break
        while True:
            number = self._next(form)
            new = form.format(number=number, letters=letters(number - 1))
            if new not in self._taken:
                return new

    def _lettered(self, known: dict[str, str], original: str, form: str) -> str:
        while original not in known:
            new = form.format(letters(self._next(form) - 1))
            if new not in self._taken:
                known[original] = new
        return known[original]

    def _ipv4(self, address: ipaddress.IPv4Address) -> str:
        first = next((first for net, first in _CLASSES if address in net), _PUBLIC)
        subnet = int(address) // _SUBNET
        if subnet not in self._subnets:
            self._subnets[subnet] = first + _SUBNET * (self._next(f"subnet {first}") - 1)
        self._members[subnet] = member = self._members.get(subnet, 0) + 1
        return str(ipaddress.IPv4Address(self._subnets[subnet] + member))

    def _next(self, form: str) -> int:
        """1, 2, 3, ... of each form."""
        self._counts[form] = self._counts.get(form, 0) + 1
        return self._counts[form]

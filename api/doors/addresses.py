"""Where a request comes from, and what it calls this machine."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

_THIS_MACHINE = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.IGNORECASE)
# Any of them means that somebody stands between us and whoever asks: then an address of this
# machine says nothing about who that is.
_PROXY = (
    b"forwarded", b"via", b"x-forwarded", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip",
    b"x-original-", b"x-envoy-", b"x-amzn-", b"x-azure-", b"x-appengine-", b"x-arr-", b"x-proxy",
    b"client-ip", b"true-client-ip", b"remote-addr", b"x-remote-", b"cf-", b"cdn-", b"fastly-",
    b"fly-", b"akamai-", b"x-akamai-", b"x-vercel-", b"x-nf-", b"ngrok-", b"tailscale-",
    b"x-scheme", b"x-host",
)  # fmt: skip


def is_loopback(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


def came_by_proxy(header_names: Iterable[bytes]) -> bool:
    return any(name.lower().startswith(_PROXY) for name in header_names)


def names_this_machine(host: bytes) -> bool:
    """A page elsewhere whose name was made to point here says its own name: DNS rebinding.

    Any port: the same machine is reached through a tunnel by another one."""
    return _THIS_MACHINE.fullmatch(host) is not None


def is_same_origin(origin: bytes, host: bytes) -> bool:
    return origin.lower() in {b"http://" + host.lower(), b"https://" + host.lower()}

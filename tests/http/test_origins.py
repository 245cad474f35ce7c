"""Which page a request comes from."""

import pytest

from omoi_os.errors import Forbidden
from omoi_os.http.origins import check_origin, check_own_page

HOST = {"host": "127.0.0.1:18000"}


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:18000", "http://127.0.0.1:18000"),
        ("Omoi.example", "https://omoi.example"),
        ("omoi.example:443", "https://omoi.example"),
        ("omoi.example", "http://omoi.example:80"),
        ("[::1]:18000", "http://[::1]:18000"),
    ],
)
def test_this_servers_own_page_is_let_in(host: str, origin: str) -> None:
    check_own_page("POST", {"host": host, "origin": origin})


@pytest.mark.parametrize(
    "origin", ["null", "", "http://127.0.0.1:3000", "https://evil.example", "http://127.0.0.1:18000.evil.example"]
)
def test_another_page_is_refused_whatever_it_asks(origin: str) -> None:
    for method in ("GET", "POST"):
        with pytest.raises(Forbidden):
            check_own_page(method, {**HOST, "origin": origin})
    with pytest.raises(Forbidden):
        check_origin({**HOST, "origin": origin})


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_neighbour_on_another_port_is_another_page(site: str) -> None:
    for method in ("GET", "POST"):
        with pytest.raises(Forbidden):
            check_own_page(method, {**HOST, "sec-fetch-site": site})


def test_a_change_must_name_its_page_and_a_look_need_not() -> None:
    check_own_page("GET", HOST)
    check_own_page("GET", {**HOST, "sec-fetch-site": "none"})
    check_own_page("DELETE", {**HOST, "sec-fetch-site": "same-origin"})
    for headers in (HOST, {**HOST, "sec-fetch-site": "none"}):
        with pytest.raises(Forbidden, match="Origin"):
            check_own_page("DELETE", headers)


def test_a_program_names_no_page() -> None:
    check_origin(HOST)

"""Pages of one sentence."""

from omoi_os.http.notices import notice


def test_a_notice_shows_text_as_text_and_commands_as_commands() -> None:
    answer = notice(403, "<b>", "Run `omoi <x>` & go on.")

    body = bytes(answer.body).decode()
    assert answer.status_code == 403
    assert "<h1>&lt;b&gt;</h1>" in body
    assert "<p>Run <code>omoi &lt;x&gt;</code> &amp; go on.</p>" in body


def test_a_notice_leads_on_where_it_is_given_a_link() -> None:
    leads = bytes(notice(403, "No", "No.", link=('/"x', "On & on")).body).decode()

    assert '<p><a href="/&quot;x">On &amp; on</a></p>' in leads
    assert "<a" not in bytes(notice(403, "No", "No.").body).decode()


def test_a_notice_runs_nothing_and_is_kept_nowhere() -> None:
    headers = notice(403, "No", "No.").headers

    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert headers["x-frame-options"] == "DENY"

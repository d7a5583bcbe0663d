"""A file that is skipped as a whole has no test for pytest, which ends with 5 then, as for a file that
holds none. Here it ends with 77, which ctest takes for a skip; an empty file still fails."""


def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 5 and reporter and reporter.stats.get("skipped"):
        session.exitstatus = 77

"""Metrics as text: every page must be one that Prometheus reads, however odd the labels are."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from dibs.rules.exposition import COUNTER, GAUGE, OTHER, Family, Histogram, text


def read(*families: Family | Histogram) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """The page as Prometheus' own parser reads it."""
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in text_string_to_metric_families(text(families)):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.items())] = sample.value
    return found


def test_a_counter_counts_by_its_labels() -> None:
    added = Family("dibs_added_total", COUNTER, "Added.", ("type",))
    added.add("code")
    added.add("code", by=2.5)
    added.add(None)
    assert read(added) == {"dibs_added_total": {(("type", "code"),): 3.5, (("type", ""),): 1.0}}


def test_a_gauge_without_labels_is_one_value() -> None:
    depth = Family("dibs_depth", GAUGE, "Depth.")
    depth.put(value=3)
    depth.put(value=4)
    assert text([depth]) == "# HELP dibs_depth Depth.\n# TYPE dibs_depth gauge\ndibs_depth 4\n"


def test_labels_may_be_any_text() -> None:
    odd = 'a"b\\c\nd{e}=,f'
    depth = Family("dibs_depth", GAUGE, "With a \\ and\na line.", ("type",))
    depth.put(odd, value=1e300)
    assert read(depth) == {"dibs_depth": {(("type", odd),): 1e300}}


def test_a_long_label_is_cut() -> None:
    depth = Family("dibs_depth", GAUGE, "Depth.", ("type",))
    depth.put("x" * 5000, value=1)
    [labels] = depth.values
    assert len(labels[0]) == 100


def test_so_many_series_and_no_more() -> None:
    depth = Family("dibs_depth", GAUGE, "Depth.", ("type", "status"), most=2)
    for place in range(5):
        depth.put(f"t{place}", "ready", value=10)
    depth.put("t0", "ready", value=11)
    assert depth.values == {("t0", "ready"): 11, ("t1", "ready"): 10, (OTHER, OTHER): 30}


def test_a_histogram_is_cumulative() -> None:
    took = Histogram("dibs_took_seconds", "Took.", ("type",), bounds=(0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7.0):
        took.observe("code", value=value)
    found = read(took)
    buckets = {dict(labels)["le"]: value for labels, value in found["dibs_took_seconds_bucket"].items()}
    assert buckets == {"0.1": 2, "1": 3, "+Inf": 4}
    assert found["dibs_took_seconds_count"] == {(("type", "code"),): 4}
    assert found["dibs_took_seconds_sum"] == {(("type", "code"),): 7.65}


def test_a_histogram_takes_only_so_many_series() -> None:
    took = Histogram("dibs_took_seconds", "Took.", ("type",), bounds=(1.0,), most=1)
    took.observe("a", value=0.5)
    took.observe("b", value=0.5)
    took.observe("c", value=2.0)
    assert took.counts == {("a",): [1, 0], (OTHER,): [1, 1]}

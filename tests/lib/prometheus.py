"""Judges what /metrics says with a parser that is not ours (package python3-prometheus-client).

The parser refuses lines that are not of the format; what it lets pass, such as a family without a type or buckets that
fall, is looked for here.
"""
import math

from prometheus_client.parser import text_string_to_metric_families

from mcp import check, equal

OWN = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}


def _heads(text):
    """How often each family has HELP and TYPE, by its name as it stands."""
    heads = {}
    for line in text.splitlines():
        if line.startswith("#"):
            words = line.split(" ", 3)
            check(len(words) == 4 and words[1] in ("HELP", "TYPE") and words[3].strip(), "no head:", line)
            heads.setdefault(words[2], []).append(words[1])
    return heads


def _check_family(family):
    check(family.type in OWN, "an unexpected type:", family.name, family.type)
    check(family.samples, "a family without a series:", family.name)
    for sample in family.samples:
        suffix = sample.name[len(family.name):]
        check(sample.name.startswith(family.name) and suffix in OWN[family.type],
              "a %s has a series" % family.type, sample.name)
        check(sample.timestamp is None, "a time stamp:", sample.name)
        check(math.isfinite(sample.value), "no finite number:", sample)
        if family.type != "gauge":
            check(sample.value >= 0, "a count below zero:", sample)


def _check_histogram(family):
    """Each set of labels by itself."""
    sets = {}
    for sample in family.samples:
        labels = dict(sample.labels)
        bound = labels.pop("le", None)
        check((bound is None) == (not sample.name.endswith("_bucket")), "le is out of place:", sample)
        one = sets.setdefault(tuple(sorted(labels.items())), {"buckets": []})
        if bound is None:
            one[sample.name[len(family.name):]] = sample.value
        else:
            one["buckets"].append((float(bound), sample.value))
    for one in sets.values():
        check({"_sum", "_count"} <= set(one), "a histogram without sum or count:", family.name)
        buckets = one["buckets"]
        bounds, counts = [bound for bound, _ in buckets], [count for _, count in buckets]
        check(bounds and bounds == sorted(set(bounds)), "bounds do not rise:", family.name, bounds)
        check(counts == sorted(counts), "buckets are not cumulative:", family.name, counts)
        equal(bounds[-1], math.inf, family.name)
        equal(counts[-1], one["_count"], family.name + "_count")
        least = sum((more - less) * bound
                    for bound, less, more in zip([0.0] + bounds[:-1], [0.0] + counts[:-1], counts))
        check(one["_sum"] >= least * (1 - 1e-9), "a sum too small for its buckets:", family.name, one)


def check_metrics(text):
    """Parses text (str) and checks it by the rules of the format: each family has HELP and TYPE once and in one piece,
    counters end in _total, histograms are cumulative and agree with their count, no series is there twice.
    Returns {(name of the series, ((label, value), ...)): value}."""
    check(text.endswith("\n") and "\r" not in text, "the last line does not end, or there is a CR")
    try:
        families = list(text_string_to_metric_families(text))
    except ValueError as error:
        raise AssertionError("the parser refuses it: %s" % error)
    heads = _heads(text)
    series = {}
    for family in families:
        # The parser takes _total off the name of a counter.
        name = family.name + ("_total" if family.type == "counter" else "")
        check(name in heads, "no HELP and no TYPE:", name)
        equal(sorted(heads.pop(name)), ["HELP", "TYPE"], name)
        _check_family(family)
        if family.type == "histogram":
            _check_histogram(family)
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            check(key not in series, "a series is there twice:", key)
            series[key] = sample.value
    check(not heads, "a head without a family, or a family in two pieces:", sorted(heads))
    return series


def value_of(series, name, **labels):
    """One value of what check_metrics returned."""
    key = name, tuple(sorted(labels.items()))
    check(key in series, "there is no series", key)
    return series[key]

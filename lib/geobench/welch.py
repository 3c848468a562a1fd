"""Welch's t for means over the targets of lists within data sets: the default of every interval and test.

List l of data set d has m_l targets, whose values sum to y_l; M_d targets are in the data set, M in all of its D data sets. The mean is a
sum of one contribution per list. As lists differ in size it is a ratio of sums, and its variance comes from the linearised residuals
(Cochran 1977, Sampling Techniques, chapter 6; Wolter 2007, Introduction to Variance Estimation, chapter 6):

    weighting `dataset`: contribution y_l / (D M_d), residual u_l = (y_l - R_d m_l) / (D M_d), R_d the data set's mean over targets
    weighting `target`:  contribution y_l / M,       residual u_l = (y_l - R m_l) / M,         R the mean over all targets

    v_d = n_d / (n_d - 1) * sum over the data set's n_d lists of (u_l - their mean)^2,   se^2 = sum of v_d
    degrees of freedom = (sum of v_d)^2 / sum of v_d^2 / (n_d + 1), less 2   (Welch 1947, Biometrika 34)

With lists of one size and weighting `dataset`, v_d is s_d^2 / (n_d D^2), s_d^2 the variance of the lists' means: one data set is the
one-sample t test on list means. A data set of one list gives no v_d. Satterthwaite's (1946) degrees of freedom, with n_d - 1 and without
the 2, are biased down: over three data sets of two lists their intervals cover 98 %. `benchmarks/coverage.py` measures ours.
"""

from collections.abc import Iterator, Mapping

import numpy as np

LEVEL = 0.95
NO_SPREAD = 1e-12  # a standard error up to this is rounding: all lists of a data set say the same


def without_rounding(se):
    """Standard errors, 0 where they are nothing but rounding (`NO_SPREAD`)."""
    return np.where(se <= NO_SPREAD, 0.0, se)


def by_dataset(rows: np.ndarray, sizes: Mapping[str, int]) -> Iterator[np.ndarray]:
    """The rows (one per list) of each data set, in the mapping's order."""
    yield from np.split(rows, np.cumsum(list(sizes.values()))[:-1])


def contributions(sums: np.ndarray, sizes: Mapping[str, int], weighting: str) -> tuple[np.ndarray, np.ndarray]:
    """(lists x values contributions, whose columns sum to the means; lists x values residuals u).

    sums: lists x (values, then the number of targets), as of `resampling.list_sums`.
    """
    parts = [sums] if weighting == "target" else list(by_dataset(sums, sizes))
    made, left = [], []
    for part in parts:
        values, targets = part[:, :-1], part[:, -1:]
        whole = targets.sum() * len(parts)
        made.append(values / whole)
        left.append((values - values.sum(axis=0) / targets.sum() * targets) / whole)
    return np.concatenate(made), np.concatenate(left)


def welch(residuals: np.ndarray, sizes: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """(standard errors, degrees of freedom) per column of residuals (lists x values).

    nan where no data set has two lists; a standard error of 0, and no degrees of freedom, where nothing differs.
    """
    several = [part for part in by_dataset(residuals, sizes) if len(part) > 1]
    if not several:
        return np.full(residuals.shape[1], np.nan), np.full(residuals.shape[1], np.nan)
    parts = np.array([len(part) * part.var(axis=0, ddof=1) for part in several])
    lists = np.array([len(part) for part in several])[:, None]
    total = parts.sum(axis=0)
    se = without_rounding(np.sqrt(total))
    with np.errstate(divide="ignore", invalid="ignore"):
        return se, np.where(se > 0, total**2 / (parts**2 / (lists + 1)).sum(axis=0) - 2, np.nan)


def t_ends(mean, se, df) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the 95 % interval, mean -+ t * se; both are the mean where the standard error is 0, nan where it is nan."""
    from scipy.special import stdtrit

    mean, se, df = (np.asarray(part, float) for part in (mean, se, df))
    half = np.where(se > 0, stdtrit(np.where(se > 0, df, 1.0), (1 + LEVEL) / 2) * se, se)
    return mean - half, mean + half


def p_values(mean, se, df) -> np.ndarray:
    """Two-sided p of mean = 0 from mean / se under t with df degrees of freedom, or under the normal where df is nan.

    Where nothing differs (se 0) there is no test: 1 for a mean of 0, else nan. nan where se is nan.
    """
    from scipy.special import erfc, stdtr

    mean, se, df = (np.asarray(part, float) for part in (mean, se, df))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(mean / se)
        p = np.where(np.isnan(df), erfc(ratio / np.sqrt(2)), 2 * stdtr(df, -ratio))
    return np.where(se <= NO_SPREAD, np.where(np.abs(mean) <= NO_SPREAD, 1.0, np.nan), p)


def interval(mean: float, residuals: np.ndarray, sizes: Mapping[str, int]) -> tuple[float, float, float]:
    """(lo, hi, two-sided p of mean = 0) of one mean from the residuals of its lists, in the order of `sizes`."""
    se, df = welch(residuals[:, None], sizes)
    low, high = t_ends(mean, se, df)
    return float(low[0]), float(high[0]), float(p_values(mean, se, df)[0])

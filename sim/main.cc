// SPDX-License-Identifier: Apache-2.0
// lakestream_sim: runs worlds, each in a process of its own, and says how to run one again.
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "base/format.h"
#include "sim/scenario.h"

// Of the runtime of builds that count coverage; null in all others.
// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" int __llvm_profile_write_file() __attribute__((weak));

namespace lakestream::sim {
namespace {

constexpr time_t run_seconds_max = 120;  // of processor time: a loaded machine finds nothing
constexpr std::string_view usage = R"(lakestream_sim [OPTION...]
  --scenario NAME    one scenario; default: all
  --seed N           one world, told in detail on stderr
  --seeds FIRST-LAST these worlds of each scenario
  --seconds S        further worlds until S seconds have passed, from --fresh on
  --fresh N          the first of those; default: derived from the clock
  --determinism      every world twice, and the traces compared
  --planted [NAME]   look for planted bugs; finding one is success
  --list             scenarios and planted bugs
Environment: SIM_SEEDS and SIM_SECONDS stand for --seeds and --seconds.
)";

struct Options {
    std::vector<std::string> scenarios;
    std::optional<std::uint64_t> seed;
    std::uint64_t first = 1;
    std::uint64_t last = 0;
    std::uint64_t seconds = 0;
    std::uint64_t fresh = 0;
    bool determinism = false;
    bool planted = false;
    std::string bug;
};

/// What a child tells its parent: plain bytes through a pipe.
struct Report {
    std::uint64_t trace = 0;
    std::uint64_t steps = 0;
    std::uint64_t crashes = 0;
    std::uint64_t batches = 0;
    std::uint64_t acknowledged = 0;
    bool whole = false;
    bool found = false;
    char text[800] = {};
};

std::string command(const std::string& scenario, std::uint64_t seed, std::string_view bug) {
    std::string text =
        fmt::format("build/dev/sim/lakestream_sim --scenario {} --seed {}", scenario, seed);
    return bug.empty() ? text : fmt::format("{} --planted {}", text, bug);
}

Planted planted_of(std::string_view name) {
    for (const PlantedName& bug : planted_bugs()) {
        if (bug.name == name) {
            return bug.bug;
        }
    }
    return Planted::none;
}

Report report_of(const Outcome& outcome) {
    Report report{
        .trace = outcome.trace,
        .steps = outcome.steps,
        .crashes = outcome.crashes,
        .batches = outcome.batches,
        .acknowledged = outcome.acknowledged,
        .whole = true,
        .found = outcome.finding.has_value(),
    };
    if (outcome.finding.has_value()) {
        const std::string text =
            fmt::format("{}: {}", outcome.finding->invariant, outcome.finding->what);
        text.copy(report.text, sizeof(report.text) - 1);
    }
    return report;
}

/// Without destructors: what a world leaves behind may never end.
[[noreturn]] void end_process(int code) {
    if (__llvm_profile_write_file != nullptr) {
        static_cast<void>(__llvm_profile_write_file());
    }
    ::_exit(code);
}

[[noreturn]] void run_child(
    int out, const std::string& scenario, std::uint64_t seed, Planted planted, int times
) {
    const itimerval limit{.it_interval = {}, .it_value = {.tv_sec = run_seconds_max, .tv_usec = 0}};
    ::setitimer(ITIMER_PROF, &limit, nullptr);
    Report report;
    for (int i = 0; i < times; ++i) {
        // In one process, so that a second run has other addresses.
        const Report next = report_of(run(scenario, seed, planted, Narrate::no));
        if (i > 0 && (next.trace != report.trace || next.steps != report.steps)) {
            report.found = true;
            const std::string text = fmt::format(
                "DETERMINISM: trace {:x} in {} steps, then {:x} in {}",
                report.trace,
                report.steps,
                next.trace,
                next.steps
            );
            text.copy(report.text, sizeof(report.text) - 1);
            break;
        }
        report = next;
    }
    static_cast<void>(::write(out, &report, sizeof(report)));
    end_process(0);
}

/// One world in a child process, so that a node that exits is a finding like any other.
Report run_apart(const std::string& scenario, std::uint64_t seed, Planted planted, int times = 1) {
    int ends[2];
    if (::pipe(ends) != 0) {
        std::abort();
    }
    const pid_t child = ::fork();
    if (child == 0) {
        run_child(ends[1], scenario, seed, planted, times);
    }
    ::close(ends[1]);
    Report report;
    const bool whole = ::read(ends[0], &report, sizeof(report)) == sizeof(report);
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    std::error_code ignored;
    std::filesystem::remove_all(World::scratch_of(child), ignored);
    if (!whole) {
        report = Report();
        report.found = true;
        const std::string text = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF
                                     ? "LIVENESS: the run did not end"
                                     : "a node's process ended; what it said is above";
        text.copy(report.text, sizeof(report.text) - 1);
    }
    return report;
}

struct Totals {
    std::uint64_t runs = 0;
    std::uint64_t failed = 0;
    Report sum;
};

bool run_counted(
    const Options& options, const std::string& scenario, std::uint64_t seed, Totals& totals
) {
    const Report report =
        run_apart(scenario, seed, planted_of(options.bug), options.determinism ? 2 : 1);
    ++totals.runs;
    totals.sum.steps += report.steps;
    totals.sum.crashes += report.crashes;
    totals.sum.batches += report.batches;
    totals.sum.acknowledged += report.acknowledged;
    if (report.found) {
        ++totals.failed;
        fmt::print(
            "FAILED scenario={} seed={}: {}\n  replay: {}\n",
            scenario,
            seed,
            report.text,
            command(scenario, seed, options.bug)
        );
        std::fflush(stdout);
    }
    return !report.found;
}

int run_many(const Options& options) {
    const auto begin = std::chrono::steady_clock::now();
    const auto end = begin + std::chrono::seconds(options.seconds);
    Totals totals;
    for (std::uint64_t seed = options.first; seed <= options.last; ++seed) {
        for (const std::string& scenario : options.scenarios) {
            run_counted(options, scenario, seed, totals);
        }
    }
    for (std::uint64_t seed = options.fresh; std::chrono::steady_clock::now() < end; ++seed) {
        for (const std::string& scenario : options.scenarios) {
            if (std::chrono::steady_clock::now() < end) {
                run_counted(options, scenario, seed, totals);
            }
        }
    }
    fmt::print(
        "{} worlds, {} failed: {} steps, {} crashes, {} batches, {} acknowledgements\n",
        totals.runs,
        totals.failed,
        totals.sum.steps,
        totals.sum.crashes,
        totals.sum.batches,
        totals.sum.acknowledged
    );
    return totals.failed == 0 && totals.sum.acknowledged > 0 ? 0 : 1;
}

int look_for_planted(const Options& options) {
    bool all = true;
    for (const PlantedName& bug : planted_bugs()) {
        if (!options.bug.empty() && options.bug != bug.name) {
            continue;
        }
        const std::string scenario(bug.scenario);
        bool found = false;
        for (std::uint64_t seed = 1; seed <= bug.seeds && !found; ++seed) {
            const Report report = run_apart(scenario, seed, bug.bug);
            found = report.found;
            if (found) {
                fmt::print("{}: found with seed {}: {}\n", bug.name, seed, report.text);
            }
        }
        if (!found) {
            fmt::print("FAILED {}: not found within {} seeds\n", bug.name, bug.seeds);
        }
        all = all && found;
    }
    return all ? 0 : 1;
}

int run_one(const Options& options) {
    const std::string& scenario = options.scenarios.front();
    const Outcome outcome = run(scenario, *options.seed, planted_of(options.bug), Narrate::yes);
    fmt::print(
        "scenario={} seed={} trace={:016x} steps={} crashes={} batches={} acknowledged={}\n",
        scenario,
        *options.seed,
        outcome.trace,
        outcome.steps,
        outcome.crashes,
        outcome.batches,
        outcome.acknowledged
    );
    if (outcome.finding.has_value()) {
        fmt::print("FAILED {}: {}\n", outcome.finding->invariant, outcome.finding->what);
    }
    std::fflush(stdout);
    end_process(outcome.finding.has_value() ? 1 : 0);
}

int list() {
    for (const ScenarioName& scenario : scenario_names()) {
        fmt::print("{:<24}{}\n", scenario.name, scenario.about);
    }
    for (const PlantedName& bug : planted_bugs()) {
        fmt::print("{:<24}planted, within {} seeds of {}\n", bug.name, bug.seeds, bug.scenario);
    }
    return 0;
}

bool parse_number(std::string_view text, std::uint64_t& into) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    return error == std::errc() && end == text.data() + text.size();
}

/// `FIRST-LAST` or `N`.
bool parse_seeds(std::string_view text, Options& options) {
    const std::size_t dash = text.find('-');
    const bool good = parse_number(text.substr(0, dash), options.first);
    options.last = options.first;
    return good &&
           (dash == std::string_view::npos || parse_number(text.substr(dash + 1), options.last));
}

bool parse(std::vector<std::string_view> words, Options& options) {
    bool good = true;
    for (std::size_t i = 0; i < words.size() && good; ++i) {
        const std::string_view word = words[i];
        const std::string_view value = i + 1 < words.size() ? words[i + 1] : std::string_view();
        std::uint64_t number = 0;
        if (word == "--determinism") {
            options.determinism = true;
            continue;
        }
        if (word == "--planted" && (value.empty() || value.starts_with("--"))) {
            options.planted = true;
            continue;
        }
        ++i;
        if (word == "--scenario") {
            options.scenarios = {std::string(value)};
        } else if (word == "--seed") {
            good = parse_number(value, number);
            options.seed = number;
        } else if (word == "--seeds") {
            good = parse_seeds(value, options);
        } else if (word == "--seconds") {
            good = parse_number(value, options.seconds);
        } else if (word == "--fresh") {
            good = parse_number(value, options.fresh);
        } else if (word == "--planted") {
            options.planted = true;
            options.bug = value;
            good = planted_of(value) != Planted::none;
        } else {
            good = false;
        }
    }
    return good;
}

int main_of(const std::vector<std::string_view>& words) {
    if (words.size() == 1 && words[0] == "--list") {
        return list();
    }
    Options options;
    for (const ScenarioName& scenario : scenario_names()) {
        if (!scenario.only_when_asked) {
            options.scenarios.emplace_back(scenario.name);
        }
    }
    options.fresh = static_cast<std::uint64_t>(
        std::chrono::system_clock::now().time_since_epoch() / std::chrono::seconds(1)
    );
    bool good = parse(words, options);
    if (const char* seeds = std::getenv("SIM_SEEDS"); seeds != nullptr && !options.planted) {
        good = good && parse_seeds(seeds, options);
    }
    if (const char* seconds = std::getenv("SIM_SECONDS"); seconds != nullptr) {
        good = good && parse_number(seconds, options.seconds);
    }
    if (!good) {
        fmt::print(stderr, "{}", usage);
        return 2;
    }
    if (options.seed.has_value()) {
        return run_one(options);
    }
    return options.planted ? look_for_planted(options) : run_many(options);
}

}  // namespace
}  // namespace lakestream::sim

int main(int argc, char** argv) {
    return lakestream::sim::main_of({argv + 1, argv + argc});
}

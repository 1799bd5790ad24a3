// SPDX-License-Identifier: Apache-2.0
// Connection: reads requests, serves them side by side, answers in the order they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/slices.h"
#include "kafka/dispatch.h"
#include "kafka/frame_reader.h"
#include "kafka/shard.h"
#include "net/net.h"
#include "rt/scope.h"
#include "rt/signal.h"

namespace lakestream::kafka {

/// Owned by its shard's server, on whose executor it lives. Each request is begun as soon as it has
/// arrived (docs/protocols/kafka-connection.md); requests in flight, and the bytes of requests and
/// responses, are bounded: then nothing more is read until the client has taken some answers.
class Connection {
  public:
    Connection(Shard& shard, std::unique_ptr<net::Stream> stream, std::string listener);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Serve until the peer leaves, breaks the protocol or idles too long, or until told to end.
    rt::Task<void> run();
    /// Answer what has arrived, read no more, then end.
    void drain();
    /// End now; what is in flight is finished and not answered.
    void close();

    const Peer& peer() const noexcept { return peer_; }
    /// Whether the client takes the answer that is being written slower than one must while others
    /// wait for memory: a MiB in 3 s.
    bool is_slow() const;

    /// Destroy the tasks where they stand: only for a node that is cut off (TaskScope::abandon).
    void abandon() noexcept { scope_.abandon(); }

  private:
    using Admitted = RequestMemory::Units;

    /// The place of one response in the order of responses.
    struct Slot {
        std::uint64_t bytes = 0;  // of the request, then of the response
        bool done = false;
        Reply reply;
    };

    rt::Task<Status> read_requests();
    rt::Task<Result<std::optional<FrameHead>>> next_head();
    rt::Task<Status> read_one(FrameHead head);
    rt::Task<Result<Bytes>> read_body(const Api& api, FrameHead head, Admitted& admitted);
    rt::Task<void> begin(const Api& api, Call call, Bytes frame, Admitted admitted);
    rt::Task<void> finish(Slot& slot, Call call, Started started, Admitted admitted);
    rt::Task<void> finish_unanswered(
        std::uint64_t bytes, Call call, Started started, Admitted admitted
    );
    rt::Task<void> write_responses();
    rt::Task<Status> write_in_pieces(Slices frames);
    rt::Task<Status> write_piece(Slices piece, Deadline deadline);
    Error refuse(const FrameHead& head) const;
    bool full() const;
    Deadline patience(std::uint64_t bytes) const;

    Shard& shard_;
    std::unique_ptr<net::Stream> stream_;
    const ConnectionOptions& options_;
    Peer peer_;
    FrameReader frames_;
    std::deque<Slot> slots_;                // requests in order, until their response is written
    std::size_t unanswered_ = 0;            // requests without a slot in flight
    std::uint64_t bytes_ = 0;               // of slots and unanswered requests
    MonoTime write_due_ = MonoTime::max();  // of the piece that is being written, when it matters
    bool beginning_ = false;                // a request is between arrival and its slot
    bool ending_ = false;                   // nothing more is read
    bool broken_ = false;                   // nothing more is written
    bool written_ = false;                  // the writer has ended
    rt::Signal changed_;
    rt::TaskScope scope_;  // last: ends before what its tasks use
};

}  // namespace lakestream::kafka

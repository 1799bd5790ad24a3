// SPDX-License-Identifier: Apache-2.0
// Committed offsets of one group (before version 8) or several. What was committed for a topic that
// is gone is not shown, also when another one has its name now.
#include "kafka/handlers/offset_fetch.h"

#include <algorithm>
#include <map>
#include <set>

#include "codec/kafka/gen/offset_fetch_fields.h"
#include "kafka/handlers/group_calls.h"
#include "kafka/topics.h"

namespace lakestream::kafka {

namespace {

using Request = OffsetFetchHandler::Request;
using Response = OffsetFetchHandler::Response;
using Fetched = std::vector<groups::FetchedOffset>;

constexpr std::int16_t first_version_with_error = 2;
constexpr std::int16_t first_version_of_many = 8;
constexpr std::int16_t first_version_with_ids = 10;

/// Once each: what is small to ask for many times over is large to answer.
bool repeats(std::vector<groups::OffsetKey> wanted) {
    std::erase_if(wanted, [](const auto& key) { return key.topic.empty(); });  // answered as such
    std::ranges::sort(wanted);
    return std::ranges::adjacent_find(wanted) != wanted.end();
}

/// What one group is asked for, and its answer on the way.
struct Question {
    Request::OffsetFetchRequestGroup asked;
    KafkaError error = KafkaError::none;
    std::vector<std::string> names;  // by topic asked for; empty: none has its id
    std::optional<rt::Future<Result<Fetched>>> fetching;
};

std::vector<Request::OffsetFetchRequestGroup> groups_of(const Call& call, Request& request) {
    if (call.version >= first_version_of_many) {
        return std::move(request.groups);
    }
    Request::OffsetFetchRequestGroup group{.group_id = std::move(request.group_id)};
    group.topics.reset();
    if (request.topics.has_value()) {
        auto& topics = group.topics.emplace();
        for (auto& topic : *request.topics) {
            topics.push_back({
                .name = std::move(topic.name),
                .partition_indexes = std::move(topic.partition_indexes),
            });
        }
    }
    return {std::move(group)};
}

rt::Task<Question> ask(Call call, Request::OffsetFetchRequestGroup group) {
    Question question{.asked = std::move(group)};
    question.error = check_group(call, question.asked.group_id, EmptyGroupId::allowed);
    if (question.error != KafkaError::none) {
        co_return question;
    }
    std::optional<std::vector<groups::OffsetKey>> wanted;
    if (question.asked.topics.has_value()) {
        wanted.emplace();
        for (const auto& topic : *question.asked.topics) {
            std::string name = topic.name;
            if (call.version >= first_version_with_ids) {
                const auto stream =
                    co_await load_topic(call.shard.backend.catalog, {}, topic.topic_id);
                name = stream.ok() ? (*stream)->name.name : std::string();
            }
            for (const std::int32_t partition : topic.partition_indexes) {
                wanted->push_back({name, partition});
            }
            question.names.push_back(std::move(name));
        }
    }
    if (wanted.has_value() && repeats(*wanted)) {
        question.error = KafkaError::invalid_request;
        co_return question;
    }
    question.fetching = call.shard.groups.ask(
        question.asked.group_id, &groups::Coordinator::fetch, std::move(wanted)
    );
    co_return question;
}

Response::OffsetFetchResponsePartitions to_partition(
    std::int32_t index, const std::optional<groups::Committed>& committed
) {
    Response::OffsetFetchResponsePartitions partition{
        .partition_index = index,
        .committed_offset = -1,
    };
    if (committed.has_value()) {
        partition.committed_offset = committed->offset;
        partition.committed_leader_epoch = committed->leader_epoch;
        partition.metadata = committed->metadata;
    }
    return partition;
}

/// The topic that has a name now; none when there is none.
rt::Task<Result<std::optional<codec::kafka::Uuid>>> find_topic(Call call, std::string name) {
    const auto stream = co_await load_topic(call.shard.backend.catalog, std::move(name), {});
    if (stream.is(ErrorCode::not_found) || stream.is(ErrorCode::invalid_argument)) {
        co_return std::nullopt;
    }
    co_return topic_id(*LKS_CO_TRY(stream));
}

/// The current ids of all topics in an answer. Errors: of the catalog.
rt::Task<Result<std::map<std::string, std::optional<codec::kafka::Uuid>>>> find_topics(
    Call call, const Fetched& fetched
) {
    std::map<std::string, std::optional<codec::kafka::Uuid>> found;
    for (const groups::FetchedOffset& offset : fetched) {
        if (offset.committed.has_value() && !found.contains(offset.key.topic)) {
            found[offset.key.topic] = LKS_CO_TRY(co_await find_topic(call, offset.key.topic));
        }
    }
    co_return found;
}

rt::Task<Result<Fetched>> fetch(Call call, Question& question) {
    Fetched fetched = LKS_CO_TRY(co_await std::move(*question.fetching));
    const auto topics = LKS_CO_TRY(co_await find_topics(call, fetched));
    for (groups::FetchedOffset& offset : fetched) {
        if (offset.committed.has_value()) {
            const auto& now = topics.at(offset.key.topic);
            if (!now.has_value() || now->bytes != offset.committed->topic_id) {
                offset.committed.reset();
            }
        }
    }
    co_return fetched;
}

void put_asked(
    Response::OffsetFetchResponseGroup& answer, const Question& question, const Fetched& fetched
) {
    auto offset = fetched.begin();
    for (std::size_t t = 0; t < question.names.size(); ++t) {
        const auto& asked = (*question.asked.topics)[t];
        auto& topic = answer.topics.emplace_back();
        topic.name = asked.name;
        topic.topic_id = asked.topic_id;
        for (const std::int32_t partition : asked.partition_indexes) {
            topic.partitions.push_back(to_partition(partition, (offset++)->committed));
            if (question.names[t].empty()) {
                topic.partitions.back().error_code = KafkaError::unknown_topic_id;
            }
        }
    }
}

/// All that is committed; it comes by topic.
void put_all(Response::OffsetFetchResponseGroup& answer, const Fetched& fetched) {
    for (const groups::FetchedOffset& offset : fetched) {
        if (!offset.committed.has_value()) {
            continue;
        }
        if (answer.topics.empty() || answer.topics.back().name != offset.key.topic) {
            auto& topic = answer.topics.emplace_back();
            topic.name = offset.key.topic;
            topic.topic_id = {offset.committed->topic_id};
        }
        answer.topics.back().partitions.push_back(
            to_partition(offset.key.partition, offset.committed)
        );
    }
}

rt::Task<Response::OffsetFetchResponseGroup> answer(Call call, Question question) {
    Response::OffsetFetchResponseGroup answer{
        .group_id = question.asked.group_id,
        .error_code = question.error,
    };
    if (question.error != KafkaError::none) {
        co_return answer;
    }
    const auto fetched = co_await fetch(call, question);
    if (!fetched.ok()) {
        answer.error_code = group_error(fetched.error());
    } else if (question.asked.topics.has_value()) {
        put_asked(answer, question, *fetched);
    } else {
        put_all(answer, *fetched);
    }
    co_return answer;
}

/// Version 1 has no place for an error of the group but its partitions.
void repeat_error(Response& response, const Question& question) {
    if (!question.asked.topics.has_value()) {
        return;
    }
    for (const auto& asked : *question.asked.topics) {
        auto& topic = response.topics.emplace_back();
        topic.name = asked.name;
        for (const std::int32_t partition : asked.partition_indexes) {
            topic.partitions.push_back({
                .partition_index = partition,
                .committed_offset = -1,
                .error_code = response.error_code,
            });
        }
    }
}

void put_one(Response& response, Response::OffsetFetchResponseGroup& group) {
    response.error_code = group.error_code;
    for (auto& answered : group.topics) {
        auto& topic = response.topics.emplace_back();
        topic.name = std::move(answered.name);
        for (auto& partition : answered.partitions) {
            topic.partitions.push_back({
                .partition_index = partition.partition_index,
                .committed_offset = partition.committed_offset,
                .committed_leader_epoch = partition.committed_leader_epoch,
                .metadata = std::move(partition.metadata),
                .error_code = partition.error_code,
            });
        }
    }
}

std::uint64_t bytes_of(const Response::OffsetFetchResponseGroup& group) {
    std::uint64_t bytes = sizeof(group) + group.group_id.size();
    for (const auto& topic : group.topics) {
        bytes += sizeof(topic) + topic.name.size();
        for (const auto& partition : topic.partitions) {
            bytes += sizeof(partition) + partition.metadata.value_or("").size();
        }
    }
    return bytes;
}

/// The groups of a request: asked a few at a time, each once, while there is room for answers.
struct Inquiry {
    std::vector<Request::OffsetFetchRequestGroup> groups;
    std::size_t next = 0;  // not asked yet
    std::set<std::string> seen;
    std::uint64_t bytes = 0;  // of the answers
};

rt::Task<std::vector<Question>> ask_some(Call call, Inquiry& inquiry) {
    std::vector<Question> questions;
    while (inquiry.next < inquiry.groups.size() && questions.size() < groups_at_once) {
        auto& group = inquiry.groups[inquiry.next++];
        if (!inquiry.seen.insert(group.group_id).second) {
            questions.push_back({.asked = std::move(group), .error = KafkaError::invalid_request});
        } else if (inquiry.bytes > call.shard.options.broker.described_bytes_max) {
            questions.push_back({.asked = std::move(group), .error = too_much_error});
        } else {
            questions.push_back(co_await ask(call, std::move(group)));
        }
    }
    co_return questions;
}

rt::Task<Response> finish(
    Call call, Inquiry inquiry, std::vector<Question> questions, ResponseMemory::Grant& grant
) {
    Response response;
    if (call.version >= first_version_of_many) {
        while (!questions.empty()) {
            for (Question& question : questions) {
                response.groups.push_back(co_await answer(call, std::move(question)));
                inquiry.bytes += bytes_of(response.groups.back());
                grant.settle(inquiry.bytes);
            }
            questions = co_await ask_some(call, inquiry);
        }
        co_return response;
    }
    const auto asked = questions.front().asked;
    auto group = co_await answer(call, std::move(questions.front()));
    grant.settle(bytes_of(group));
    put_one(response, group);
    if (call.version < first_version_with_error && response.error_code != KafkaError::none) {
        repeat_error(response, {.asked = asked});
    }
    co_return response;
}

}  // namespace

rt::Task<Begun<Response>> OffsetFetchHandler::begin(Call call, Request request) {
    Inquiry inquiry{.groups = groups_of(call, request)};
    auto questions = co_await ask_some(call, inquiry);
    auto grant = std::make_unique<ResponseMemory::Grant>(call.shard.response_memory.take(0));
    co_return Begun<Response>{
        .rest = finish(call, std::move(inquiry), std::move(questions), *grant),
        .grant = std::move(grant),
    };
}

}  // namespace lakestream::kafka

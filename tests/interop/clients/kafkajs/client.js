// SPDX-License-Identifier: Apache-2.0
// kafkajs behind the commands of ../README.md.
const readline = require('readline');
const kafkajs = require('kafkajs');
const lz4 = require('lz4-napi');
const snappy = require('snappyjs');
const {ZstdCodec} = require('zstd-codec');

const {CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel} = kafkajs;
const [address, id] = process.argv.slice(2);
const kafka = new Kafka({
    brokers: [address], clientId: id, logLevel: logLevel.ERROR,
    logCreator: () => ({log}) => process.stderr.write(log.message + '\n'),
});

// The Java client cuts what it compresses with snappy into blocks behind this header.
const XERIAL = Buffer.from([130, 83, 78, 65, 80, 80, 89, 0]);

function unsnappy(bytes) {
    if (!bytes.subarray(0, XERIAL.length).equals(XERIAL))
        return snappy.uncompress(bytes);
    const blocks = [];
    for (let at = 16; at < bytes.length;) {
        const size = bytes.readInt32BE(at);
        blocks.push(snappy.uncompress(bytes.subarray(at + 4, at + 4 + size)));
        at += 4 + size;
    }
    return Buffer.concat(blocks);
}

CompressionCodecs[CompressionTypes.Snappy] = () => ({
    compress: async (encoder) => snappy.compress(encoder.buffer),
    decompress: async (bytes) => unsnappy(bytes),
});
CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: (encoder) => lz4.compressFrame(encoder.buffer),
    decompress: (bytes) => lz4.decompressFrame(bytes),
});

function addZstd() {
    return new Promise((done) => ZstdCodec.run((zstd) => {
        const {Simple, Streaming} = zstd;
        CompressionCodecs[CompressionTypes.ZSTD] = () => ({
            compress: async (encoder) => Buffer.from(new Simple().compress(encoder.buffer)),
            // Frames of other clients do not all say how large their content is.
            decompress: async (bytes) => Buffer.from(new Streaming().decompress(bytes)),
        });
        done();
    }));
}

const CODECS = {
    none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy,
    lz4: CompressionTypes.LZ4, zstd: CompressionTypes.ZSTD,
};

// Lines: asked for one at a time, or watched for.
const waiting = [];
const lines = [];
let stopped = () => {};
let watching = false;

function arrived(line) {
    if (watching)
        stopped();
    else if (waiting.length > 0)
        waiting.shift()(line);
    else
        lines.push(line);
}

function nextLine() {
    return lines.length > 0 ? Promise.resolve(lines.shift())
                            : new Promise((done) => waiting.push(done));
}

function stopLine() {
    return new Promise((done) => {
        watching = true;
        stopped = () => {
            watching = false;
            done();
        };
    });
}

const print = (...words) => process.stdout.write(words.join(' ') + '\n');
const decode = (word) => word === '-' ? null : Buffer.from(word.slice(1), 'base64');
const encode = (bytes) => bytes == null ? '-' : '=' + Buffer.from(bytes).toString('base64');

function parse(line) {
    const [partition, timestamp, key, value, ...rest] = line.split(' ');
    const headers = {};
    for (const header of rest) {
        const end = header.indexOf('=') >= 0 ? header.indexOf('=') : header.length - 1;
        headers[header.slice(0, end)] = decode(header.slice(end));
    }
    return {
        partition: Number(partition), timestamp, key: decode(key), value: decode(value), headers,
    };
}

function show(partition, m) {
    const headers = Object.entries(m.headers || {}).map(([name, value]) => name + encode(value));
    print(partition, m.offset, m.timestamp, encode(m.key), encode(m.value), ...headers);
}

async function produce(topic, codec, idempotent, count) {
    const messages = [];
    for (let i = 0; i < count; i++)
        messages.push(parse(await nextLine()));
    const producer = kafka.producer({
        idempotent: idempotent === 'true', allowAutoTopicCreation: false,
        maxInFlightRequests: idempotent === 'true' ? 1 : 5,
    });
    await producer.connect();
    try {
        // It answers with the first offset of each partition; the rest follow.
        const answer = await producer.send({topic, compression: CODECS[codec], messages});
        const next = new Map(answer.map((a) => [a.partition, Number(a.baseOffset)]));
        for (const {partition} of messages) {
            print(partition, next.get(partition));
            next.set(partition, next.get(partition) + 1);
        }
    } finally {
        await producer.disconnect();
    }
}

/** It has no way to read without a group. */
async function consume(topic) {
    const admin = kafka.admin();
    await admin.connect();
    const behind = new Map();
    for (const {partition, low, high} of await admin.fetchTopicOffsets(topic))
        if (Number(high) > Number(low))
            behind.set(partition, Number(high));
    await admin.disconnect();
    const group = `read-${topic}-${id}-${Date.now()}`;
    let done;
    const all = new Promise((resolve) => done = resolve);
    await member(group, topic, behind.size === 0 ? Promise.resolve() : all, (partition, m) => {
        if (Number(m.offset) + 1 >= behind.get(partition))
            behind.delete(partition);
        if (behind.size === 0)
            done();
    });
}

async function member(groupId, topic, until, seen) {
    const consumer = kafka.consumer({
        groupId, allowAutoTopicCreation: false, maxWaitTimeInMs: 100, rebalanceTimeout: 10000,
    });
    await consumer.connect();
    try {
        await consumer.subscribe({topic, fromBeginning: true});
        await consumer.run({
            autoCommitInterval: 200,
            eachMessage: async ({partition, message}) => {
                show(partition, message);
                seen(partition, message);
            },
        });
        await until;
        await consumer.stop();
    } finally {
        await consumer.disconnect();
    }
}

function pairs(words) {
    return words.map((pair) => {
        const [name, ...value] = pair.split('=');
        return {name, value: value.join('=')};
    });
}

const resource = (name) => ({type: ConfigResourceTypes.TOPIC, name});

const ADMIN = {
    create: async (admin, topic, partitions, ...configs) => {
        const topics = [
            {topic, numPartitions: Number(partitions), configEntries: pairs(configs)},
        ];
        if (!await admin.createTopics({topics}))
            throw new Error(`${topic} exists`);
    },
    grow: (admin, topic, count) =>
        admin.createPartitions({topicPartitions: [{topic, count: Number(count)}]}),
    topics: async (admin) => (await admin.listTopics()).forEach((name) => print(name)),
    delete: (admin, topic) => admin.deleteTopics({topics: [topic]}),
    config: async (admin, topic) => {
        const answer = await admin.describeConfigs({resources: [resource(topic)]});
        for (const entry of answer.resources[0].configEntries)
            print(`${entry.configName}=${entry.configValue}`);
    },
    set: (admin, topic, pair) => admin.alterConfigs({
        resources: [{...resource(topic), configEntries: pairs([pair])}],
    }),
    // It does not tell the new first offset: asked for.
    cut: async (admin, topic, partition, offset) => {
        const before = [{partition: Number(partition), offset}];
        await admin.fetchTopicOffsets(topic);  // else it has no metadata of the topic
        await admin.deleteTopicRecords({topic, partitions: before});
        const offsets = await admin.fetchTopicOffsets(topic);
        print(offsets.find((at) => at.partition === Number(partition)).low);
    },
    groups: async (admin) => (await admin.listGroups()).groups.forEach((g) => print(g.groupId)),
    members: async (admin, group) => {
        const answer = await admin.describeGroups([group]);
        answer.groups[0].members.forEach((one) => print(one.clientId));
    },
    offsets: async (admin, groupId, topic) => {
        const [found] = await admin.fetchOffsets({groupId, topics: [topic]});
        found.partitions.filter((at) => at.offset >= 0)
            .forEach((at) => print(at.partition, at.offset));
    },
    forget: (admin, group) => admin.deleteGroups([group]),
};

async function answer([command, ...words]) {
    if (command === 'produce')
        return produce(...words.slice(0, 3), Number(words[3]));
    if (command === 'consume')
        return consume(words[0]);
    if (command === 'group')
        return member(words[0], words[1], stopLine(), () => {});
    if (!(command in ADMIN))
        throw new Error(`unknown command ${command}`);
    const admin = kafka.admin();
    await admin.connect();
    try {
        return await ADMIN[command](admin, ...words);
    } finally {
        await admin.disconnect();
    }
}

async function main() {
    await addZstd();
    readline.createInterface({input: process.stdin}).on('line', arrived)
        .on('close', () => process.exit(0));
    for (;;) {
        const line = await nextLine();
        try {
            await answer(line.split(' '));
            print('.');
        } catch (why) {
            print('!', String(why).replaceAll('\n', ' '));
        }
    }
}

main();

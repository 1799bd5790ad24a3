// SPDX-License-Identifier: Apache-2.0

// franz-go behind the commands of ../README.md.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	address, id string
	in          = make(chan string)
	out         = bufio.NewWriter(os.Stdout)
	codecs      = map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
)

func decode(word string) []byte {
	if word == "-" {
		return nil
	}
	bytes, err := base64.StdEncoding.DecodeString(word[1:])
	if err != nil {
		panic(err)
	}
	if bytes == nil {
		return []byte{}
	}
	return bytes
}

func encode(bytes []byte) string {
	if bytes == nil {
		return "-"
	}
	return "=" + base64.StdEncoding.EncodeToString(bytes)
}

func number(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func client(more ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(more, kgo.SeedBrokers(address), kgo.ClientID(id))...)
}

func parse(topic, line string) *kgo.Record {
	w := strings.Split(line, " ")
	record := &kgo.Record{
		Topic: topic, Partition: int32(number(w[0])), Timestamp: time.UnixMilli(number(w[1])),
		Key: decode(w[2]), Value: decode(w[3]),
	}
	for _, header := range w[4:] {
		end := strings.IndexByte(header, '=')
		if end < 0 {
			end = len(header) - 1
		}
		record.Headers = append(record.Headers, kgo.RecordHeader{Key: header[:end], Value: decode(header[end:])})
	}
	return record
}

func show(r *kgo.Record) {
	fmt.Fprintf(out, "%d %d %d %s %s", r.Partition, r.Offset, r.Timestamp.UnixMilli(), encode(r.Key), encode(r.Value))
	for _, header := range r.Headers {
		fmt.Fprintf(out, " %s%s", header.Key, encode(header.Value))
	}
	fmt.Fprintln(out)
}

func produce(topic, codec, idempotent string, count int) error {
	options := []kgo.Opt{
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codecs[codec]),
		kgo.ProducerLinger(20 * time.Millisecond),
	}
	if idempotent != "true" {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	var records []*kgo.Record
	for range count {
		records = append(records, parse(topic, <-in))
	}
	c, err := client(options...)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		return err
	}
	for _, record := range records {
		fmt.Fprintln(out, record.Partition, record.Offset)
	}
	return nil
}

func consume(topic string) error {
	c, err := client()
	if err != nil {
		return err
	}
	defer c.Close()
	admin := kadm.NewClient(c)
	starts, err := admin.ListStartOffsets(context.Background(), topic)
	if err != nil {
		return err
	}
	ends, err := admin.ListEndOffsets(context.Background(), topic)
	if err != nil {
		return err
	}
	offsets := map[int32]kgo.Offset{}
	behind := map[int32]int64{}
	starts.Each(func(at kadm.ListedOffset) {
		offsets[at.Partition] = kgo.NewOffset().At(at.Offset)
		end, _ := ends.Lookup(topic, at.Partition)
		if end.Offset > at.Offset {
			behind[at.Partition] = end.Offset
		}
	})
	reader, err := client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}))
	if err != nil {
		return err
	}
	defer reader.Close()
	for len(behind) > 0 {
		fetches := reader.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			show(r)
			if r.Offset+1 >= behind[r.Partition] {
				delete(behind, r.Partition)
			}
		})
	}
	return nil
}

func group(name, topic string) error {
	commit := func(ctx context.Context, c *kgo.Client, _ map[string][]int32) {
		if err := c.CommitUncommittedOffsets(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "commit:", err)
		}
	}
	c, err := client(
		kgo.ConsumerGroup(name), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.Balancers(kgo.RangeBalancer()),
		kgo.OnPartitionsRevoked(commit),
	)
	if err != nil {
		return err
	}
	defer c.CloseAllowingRebalance()
	for {
		select {
		case <-in:
			return c.CommitUncommittedOffsets(context.Background())
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		fetches := c.PollFetches(ctx)
		cancel()
		if err := fetches.Err0(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		fetches.EachRecord(show)
		out.Flush()
		c.AllowRebalance()
	}
}

func topics(ctx context.Context, c *kgo.Client, w []string) error {
	admin := kadm.NewClient(c)
	switch w[0] {
	case "create":
		configs := map[string]*string{}
		for _, pair := range w[3:] {
			name, value, _ := strings.Cut(pair, "=")
			configs[name] = &value
		}
		_, err := admin.CreateTopic(ctx, int32(number(w[2])), 1, configs, w[1])
		return err
	case "grow":
		answer, err := admin.UpdatePartitions(ctx, int(number(w[2])), w[1])
		return errors.Join(err, answer.Error())
	case "topics":
		listed, err := admin.ListTopics(ctx)
		for _, name := range listed.Names() {
			fmt.Fprintln(out, name)
		}
		return err
	case "delete":
		answer, err := admin.DeleteTopics(ctx, w[1])
		return errors.Join(err, answer.Error())
	case "config":
		answer, err := admin.DescribeTopicConfigs(ctx, w[1])
		if err != nil {
			return err
		}
		found, err := answer.On(w[1], nil)
		for _, config := range found.Configs {
			fmt.Fprintf(out, "%s=%s\n", config.Key, config.MaybeValue())
		}
		return errors.Join(err, found.Err)
	case "set":
		name, value, _ := strings.Cut(w[2], "=")
		answer, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: name, Value: &value}}, w[1])
		if err != nil {
			return err
		}
		return answer[0].Err
	case "delete_id":
		listed, err := admin.ListTopics(ctx, w[1])
		if err != nil {
			return err
		}
		request := kmsg.NewPtrDeleteTopicsRequest()
		topic := kmsg.NewDeleteTopicsRequestTopic()
		topic.TopicID = listed[w[1]].ID
		request.Topics = append(request.Topics, topic)
		request.TimeoutMillis = 30_000
		answer, err := request.RequestWith(ctx, c)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(answer.Topics[0].ErrorCode)
	case "epoch":
		request := kmsg.NewPtrOffsetForLeaderEpochRequest()
		request.ReplicaID = -1
		topic := kmsg.NewOffsetForLeaderEpochRequestTopic()
		topic.Topic = w[1]
		partition := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		partition.Partition = int32(number(w[2]))
		listed, err := admin.ListTopics(ctx, w[1])
		if err != nil {
			return err
		}
		partition.LeaderEpoch = listed[w[1]].Partitions[partition.Partition].LeaderEpoch
		topic.Partitions = append(topic.Partitions, partition)
		request.Topics = append(request.Topics, topic)
		answer, err := c.Broker(0).Request(ctx, request)
		if err != nil {
			return err
		}
		end := answer.(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
		fmt.Fprintln(out, end.LeaderEpoch, end.EndOffset)
		return kerr.ErrorForCode(end.ErrorCode)
	case "cut":
		offsets := kadm.Offsets{}
		offsets.AddOffset(w[1], int32(number(w[2])), number(w[3]), -1)
		answer, err := admin.DeleteRecords(ctx, offsets)
		if err != nil {
			return err
		}
		done, _ := answer.Lookup(w[1], int32(number(w[2])))
		fmt.Fprintln(out, done.LowWatermark)
		return done.Err
	}
	return fmt.Errorf("unknown command %s", w[0])
}

func groups(ctx context.Context, c *kgo.Client, w []string) error {
	admin := kadm.NewClient(c)
	switch w[0] {
	case "groups":
		listed, err := admin.ListGroups(ctx)
		for _, name := range listed.Groups() {
			fmt.Fprintln(out, name)
		}
		return err
	case "members":
		described, err := admin.DescribeGroups(ctx, w[1])
		if err != nil {
			return err
		}
		for _, member := range described[w[1]].Members {
			fmt.Fprintln(out, member.ClientID)
		}
		return described[w[1]].Err
	case "offsets":
		fetched, err := admin.FetchOffsets(ctx, w[1])
		fetched.Each(func(at kadm.OffsetResponse) {
			if at.Topic == w[2] && at.At >= 0 {
				fmt.Fprintln(out, at.Partition, at.At)
			}
		})
		return err
	case "forget":
		answer, err := admin.DeleteGroup(ctx, w[1])
		return errors.Join(err, answer.Err)
	}
	return topics(ctx, c, w)
}

func answer(w []string) error {
	switch w[0] {
	case "produce":
		return produce(w[1], w[2], w[3], int(number(w[4])))
	case "consume":
		return consume(w[1])
	case "group":
		return group(w[1], w[2])
	}
	// A client of its own, because it remembers the metadata for seconds.
	c, err := client()
	if err != nil {
		return err
	}
	defer c.Close()
	return groups(context.Background(), c, w)
}

func main() {
	address, id = os.Args[1], os.Args[2]
	go func() {
		lines := bufio.NewReader(os.Stdin)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				close(in)
				return
			}
			in <- strings.TrimSuffix(line, "\n")
		}
	}()
	for line := range in {
		if err := answer(strings.Split(line, " ")); err != nil {
			fmt.Fprintf(out, "! %s\n", strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Fprintln(out, ".")
		}
		out.Flush()
	}
}

// SPDX-License-Identifier: Apache-2.0
// Encodes messages with Apache Kafka's own classes: "NAME VERSION JSON" a line in, hex a line out.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

public class EncodeMessages {
    public static void main(String[] args) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var mapper = new ObjectMapper();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", 3);
            short version = Short.parseShort(words[1]);
            Class<?> converter = Class.forName("org.apache.kafka.common.message." + words[0] + "DataJsonConverter");
            Message message = (Message) converter.getMethod("read", JsonNode.class, short.class)
                .invoke(null, mapper.readTree(words[2]), version);
            ByteBufferAccessor bytes = MessageUtil.toByteBufferAccessor(message, version);
            ByteBuffer buffer = bytes.buffer();
            byte[] copy = new byte[buffer.remaining()];
            buffer.get(copy);
            System.out.println(HexFormat.of().formatHex(copy));
        }
    }
}

import proto from '@temporalio/proto';

const { History } = proto.temporal.api.history.v1;
type Recorded = ReturnType<typeof History.create>;

// The library's own historyToJSON mixes two versions of protobufjs and throws.

/** A history as readable JSON; payloads are base64. */
export const toJson = (history: Parameters<typeof History.fromObject>[0]): unknown =>
  History.toObject(History.fromObject(history), { longs: String, enums: String, bytes: String });

/** The history that `toJson` was given. */
export const fromJson = (json: unknown): Recorded => History.fromObject(json as Parameters<typeof History.fromObject>[0]);

import {
  type ConverterHint,
  defaultPayloadConverter,
  type Payload,
  type PayloadConverter,
  type SerializationContext,
} from '@temporalio/common';

/**
 * Reads what cannot be read as undefined. Operators can signal and start workflows by hand, with any payload; with the library's own converter every task of a
 * workflow that got an unreadable one fails, for ever.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (...given) => defaultPayloadConverter.toPayload(...given),
  fromPayload: <T>(payload: Payload, context?: SerializationContext, hint?: ConverterHint<T>): T => {
    try {
      return defaultPayloadConverter.fromPayload(payload, context, hint);
    } catch {
      return undefined as T;
    }
  },
};

import { isGrpcServiceError, ServiceError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { beforeDeadline } from '../lib/deadline.js';

// gRPC codes of a server that is unreachable, starting or cut off: cancelled, unknown, deadline exceeded, unavailable.
const awayCodes: ReadonlySet<number> = new Set([1, 2, 4, 14]);

/** The call exceeded its limit; whether it took effect is unknown. */
class CallTimeoutError extends Error {}

/** Whether Temporal was unreachable or has lost its namespace, as opposed to refusing this one call. */
export function isAway(error: unknown): boolean {
  if (error instanceof CallTimeoutError || error instanceof NamespaceNotFoundError) return true;
  const code = grpcCode(error);
  return code === undefined ? error instanceof ServiceError : awayCodes.has(code);
}

/** The gRPC code inside an error of the client; undefined for anything else. */
export function grpcCode(error: unknown): number | undefined {
  return grpcError(error)?.code;
}

/** One line for the log and for the held-back row. Temporal's own text is safe: it holds only ids. */
export function describeError(error: unknown): string {
  const grpc = grpcError(error);
  const plain = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return (grpc === undefined ? plain : `gRPC ${grpc.code}: ${grpc.details}`).replaceAll(/\s+/g, ' ').slice(0, 300);
}

/** Settles with `work`, or rejects after `ms`: the native client retries a call for up to ten seconds, whatever its deadline. */
export function withinMs<T>(ms: number, work: Promise<T>, onLate: (value: T) => void = () => {}): Promise<T> {
  return beforeDeadline(work, ms, { late: () => new CallTimeoutError(`Temporal did not answer within ${ms} ms`), onLate });
}

function grpcError(error: unknown): { code: number; details: string } | undefined {
  let current = error;
  for (let depth = 0; current instanceof Error && depth < 5; depth += 1) {
    if (isGrpcServiceError(current)) return current;
    current = current.cause;
  }
  return undefined;
}

import { notFound } from '../../domain/errors.js';
import { isUuid } from '../../lib/uuid.js';

/** Returns the id, or throws 404: a malformed id gets no other answer (HT-61). */
export function requestId(text: string): string {
  if (!isUuid(text)) throw notFound('request');
  return text;
}

import { closeObject, objectText, openObject } from '../../lib/json/write.js';
import type { JsonChunk } from '../http/reply.js';

/** The head of an envelope as readers get it (results.md section 2). */
export interface EnvelopeHead {
  executionId: string;
  success: boolean;
  rowsAffected: string | null;
  truncated: boolean;
  errorMessage: string | null;
}

/** The answer in pieces. `data` is JSON text passed through byte for byte (RS-10); a null becomes `null`. */
export function envelope<Data extends JsonChunk>(head: EnvelopeHead, data: Data | null): (string | Data)[] {
  const { executionId, success, rowsAffected, truncated, errorMessage } = head;
  const fields = { execution_id: executionId, success, rows_affected: null, truncated, error_message: errorMessage };
  const text = objectText({ _svc_result: true, ...fields }, { rows_affected: rowsAffected ?? 'null' });
  return [openObject(text, 'result_data'), data ?? 'null', closeObject()];
}

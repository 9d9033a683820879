import type { JsonChunk } from '../reply.js';

/** The head of an envelope as readers get it (results.md section 2). */
export interface EnvelopeHead {
  executionId: string;
  success: boolean;
  rowsAffected: string | null;
  truncated: boolean;
  errorMessage: string | null;
}

/** The answer in pieces; `data` is JSON text passed through byte for byte (RS-10), null = `null`. */
export function envelope<Data extends JsonChunk>(head: EnvelopeHead, data: Data | null): (string | Data)[] {
  const { executionId, success, rowsAffected, truncated, errorMessage } = head;
  const fields = [
    '"_svc_result":true',
    `"execution_id":${JSON.stringify(executionId)}`,
    `"success":${success}`,
    `"rows_affected":${rowsAffected ?? 'null'}`,
    `"truncated":${truncated}`,
    `"error_message":${JSON.stringify(errorMessage)}`,
  ];
  return [`{${fields.join(',')},"result_data":`, data ?? 'null', '}'];
}

import { approvalDigest } from '../../crypto/execution-token.js';
import { equalText } from '../../crypto/hash.js';
import type { StoredRequest } from '../../domain/request/types.js';

/** ET-13: computed from what is stored now. */
export function integrity(request: StoredRequest): { digestIntact: boolean; foundDigest: string } {
  const foundDigest = approvalDigest(request);
  return { digestIntact: equalText(foundDigest, request.approvalDigest), foundDigest };
}

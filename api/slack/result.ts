import { loadingModal } from '../../domain/slack/modals.js';
import { resultModal, shownResultBytes } from '../../domain/slack/result-modal.js';
import { findContent } from '../results/read.js';
import { storedStart } from '../results/stored-text.js';
import { actingUser } from './acting-user.js';
import type { ActionHandler } from './call.js';
import { openAndFill } from './open-modal.js';

/** `svc_view_result`: the stored result of the latest execution, by the rules of `GET …/result/content` (SL-21). */
export const viewResult: ActionHandler = async (call, { value: id, triggerId }) => {
  const { services, generation } = call;
  const { caller } = await actingUser(call);
  const { head, data } = await findContent({ caller, generation, params: { id }, query: {} }, services);
  await openAndFill(call, triggerId, loadingModal('Result'), async () => {
    const start = data === null ? null : await storedStart(services, data, shownResultBytes);
    const shown = start && { start: wholeCharacters(start), bytes: data?.content_length ?? 0 };
    return resultModal({ ...head, requestId: id, data: shown });
  });
};

/** The last character is left out if it was cut. */
const wholeCharacters = (bytes: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });

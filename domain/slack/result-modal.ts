import { type Modal, plain } from './blocks.js';
import { factsBlock, note, titledText } from './modals.js';
import { shortened, startOf } from './text.js';

/** SL-21: as much of a stored text as a modal shows. */
export const shownResultBytes = 2500;

export interface ShownResult {
  requestId: string;
  success: boolean;
  rowsAffected: string | null;
  truncated: boolean;
  errorMessage: string | null;
  /** The start of the stored text, cut between characters, and the length of all of it; null if no data is to be read. */
  data: { start: string; bytes: number } | null;
}

export function resultModal(result: ShownResult): Modal {
  const { requestId, success, rowsAffected, errorMessage, data } = result;
  return {
    type: 'modal',
    title: plain('Result'),
    close: plain('Close'),
    blocks: [
      factsBlock({
        Outcome: success ? 'success' : 'failure',
        'Request ID': requestId,
        ...(rowsAffected === null ? {} : { 'Rows affected': rowsAffected }),
        ...(data === null ? {} : { Size: `${data.bytes} bytes` }),
      }),
      ...(errorMessage === null ? [] : titledText('Error', shortened(errorMessage, 2500))),
      ...(data === null ? [note('No data is stored.')] : dataBlocks(requestId, data)),
      ...(result.truncated ? [note('The agent cut the result.')] : []),
    ],
  };
}

const dataBlocks = (requestId: string, { start, bytes }: NonNullable<ShownResult['data']>) => [
  ...titledText('Data', startOf(start, shownResultBytes).text),
  ...(bytes > shownResultBytes ? [note(`This is the beginning. All of it: svc request result ${requestId}`)] : []),
];

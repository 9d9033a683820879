import { blockFields, blockSize, listBlocks, readBlock, type SaidOfBlock } from '../../db/audit-blocks.js';
import type { Queryable } from '../../db/client.js';
import { isCheckpoint } from '../../domain/audit/checkpoint.js';
import type { SealedEvent } from '../../domain/audit/event.js';

/** Compares the blocks that searches use with the events of a walk in order (AU-63): no key signs blocks. */
export interface BlockCheck {
  /** The next events, without gaps. */
  see(events: readonly SealedEvent[]): Promise<void>;
  /** Where the first block begins that is wrong, or is missing between others; null if all are right. */
  wrongFrom(): number | null;
}

/** What the events of one block have. A purge may have left only the last of them. */
interface Seen {
  block: number;
  firstPlace: number;
  places: Map<string, number[]>;
  spans: Map<string, { earliest: string; latest: string }>;
}

export async function checkBlocks(db: Queryable, firstSeq: number, headSeq: number): Promise<BlockCheck> {
  const firstBlock = Math.floor(firstSeq / blockSize);
  const full = Math.floor((headSeq + 1) / blockSize);
  const stored = await listBlocks(db, firstBlock, Math.max(0, full - firstBlock) + 1);
  const right = stored.findIndex((block, at) => block !== firstBlock + at || block >= full);
  const count = right === -1 ? stored.length : right;
  let wrong = right === -1 ? null : firstBlock + right;
  let seen: Seen | null = null;
  return {
    async see(events) {
      for (const event of events) {
        const block = Math.floor(event.seq / blockSize);
        seen ??= { block, firstPlace: event.seq % blockSize, places: new Map(), spans: new Map() };
        add(seen, event);
        if (event.seq % blockSize !== blockSize - 1) continue;
        if (block - firstBlock < count && !(await isAsSeen(db, seen))) wrong = Math.min(wrong ?? block, block);
        seen = null;
      }
    },
    wrongFrom: () => (wrong === null ? null : wrong * blockSize),
  };
}

const nameOf = (field: string, value: string) => `${field} ${value}`;

function add({ places, spans }: Seen, event: SealedEvent): void {
  const place = event.seq % blockSize;
  const put = (name: string) => {
    const known = places.get(name);
    if (known === undefined) places.set(name, [place]);
    else known.push(place);
  };
  for (const field of blockFields) {
    const value = event[field];
    if (value !== null) put(nameOf(field, value));
  }
  const { created_at: at } = event;
  const time = nameOf('time', String(isCheckpoint(event)));
  put(time);
  const span = spans.get(time);
  if (span === undefined) spans.set(time, { earliest: at, latest: at });
  else if (at < span.earliest) span.earliest = at;
  else if (at > span.latest) span.latest = at;
}

async function isAsSeen(db: Queryable, { block, firstPlace, places, spans }: Seen): Promise<boolean> {
  const said = await readBlock(db, block, firstPlace, places.size + 1);
  return said.length === places.size && said.every((one) => isRight(one, firstPlace, places, spans));
}

function isRight(
  { field, value, events, earliest, latest }: SaidOfBlock,
  firstPlace: number,
  places: Seen['places'],
  spans: Seen['spans'],
): boolean {
  const name = nameOf(field, value);
  const found = places.get(name) ?? [];
  let at = firstPlace - 1;
  for (const place of found) {
    at = events.indexOf('1', at + 1);
    if (at !== place) return false;
  }
  if (found.length === 0 || events.indexOf('1', at + 1) !== -1) return false;
  const span = spans.get(name);
  // A purge may have shortened the span; one that is too long hides no event.
  return span === undefined || (earliest !== null && latest !== null && earliest <= span.earliest && latest >= span.latest);
}

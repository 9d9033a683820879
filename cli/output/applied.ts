import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import { detailInstant } from './instant.js';
import type { Style } from './style.js';

/** The migrations of a bundle that an agent saw applied, and when (MI-45). */
export interface Applied {
  versions: ReadonlySet<string>;
  seenAt: string;
}

/** Of the answer of a preflight or a request; null where it is not known. */
export function readApplied(answer: JsonText | null): Applied | null {
  const migrations = answer?.get('migrations');
  if (migrations?.kind !== 'object') return null;
  const versions = migrations.get('applied')?.items() ?? [];
  return {
    versions: new Set(versions.flatMap((version) => version.string() ?? [])),
    seenAt: migrations.get('seen_at')?.string() ?? '',
  };
}

/** Those that are applied, on one line. */
export function foldedText(versions: readonly string[], seenAt: string, style: Style): string {
  const [first, last] = [visible(versions[0] ?? ''), visible(versions.at(-1) ?? '')];
  const which = versions.length === 1 ? first : `${versions.length} from ${first} to ${last}`;
  return `${which}  applied, seen at ${detailInstant(visible(seenAt), style)}`;
}

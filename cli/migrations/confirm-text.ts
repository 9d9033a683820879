import type { Direction } from '../../domain/migration/bundle.js';
import { countOf } from '../../lib/counts.js';
import { visible } from '../../lib/visible.js';
import { type Applied, foldedText } from '../output/applied.js';
import type { Style } from '../output/style.js';
import { padToWidth } from '../output/width.js';
import type { LocalMigration } from './directory.js';

export interface Plan {
  direction: Direction;
  /** database/environment. */
  target: string;
  migrations: readonly LocalMigration[];
  /** Migrations that a `down` cannot revert. */
  oneWay: readonly LocalMigration[];
  /** null = no cap. */
  maxCount: number | null;
  /** Null where it is not known. */
  applied: Applied | null;
}

/** Describes what will be sent, for whoever confirms it (MI-52). */
export function describePlan({ direction, target, migrations: all, oneWay, maxCount, applied }: Plan, style: Style): string {
  const what = direction === 'up' ? 'for' : 'with a down part, for';
  const isDone = ({ version }: LocalMigration) => direction === 'up' && applied?.versions.has(version) === true;
  const done = all.filter(isDone).map(({ version }) => version);
  const migrations = all.filter((migration) => !isDone(migration));
  const shown = migrations.slice(-maxShown);
  const older = migrations.slice(0, -maxShown);
  const width = Math.max(0, ...shown.map(({ version }) => version.length));
  return [
    `${countOf(all.length, 'migration')} ${what} ${style.bold(target)}`,
    ...(done.length === 0 ? [] : [style.dim(`  ${foldedText(done, applied?.seenAt ?? '', style)}`)]),
    ...(older.length === 0 ? [] : [`  ${older.length} from ${older[0]!.version} to ${older.at(-1)!.version}`]),
    ...shown.map(
      (migration) =>
        `  ${padToWidth(migration.version, width, false)}  ${visible(migration.name)}${migration[direction]?.transactional === false ? style.yellow('  (without a transaction)') : ''}`,
    ),
    ...(oneWay.length === 0 ? [] : [`Without a down part: ${oneWayNames(oneWay)}`]),
    direction === 'up' ? upRule(maxCount) : downRule(maxCount ?? 1),
  ].join('\n');
}

/** More than a screen would hide the question; the newest matter most. */
const maxShown = 20;

/** The newest are those that a `down` would reach. */
function oneWayNames(migrations: readonly LocalMigration[]): string {
  const names = migrations.slice(-3).map(({ version, name }) => `${version} ${visible(name)}`);
  return `${names.join(', ')}${migrations.length > 3 ? ` and ${migrations.length - 3} older` : ''}`;
}

function upRule(maxCount: number | null): string {
  const rest = maxCount === null ? 'runs the rest' : `runs at most ${maxCount} of the rest`;
  return `The agent skips those already applied and ${rest}, in this order.`;
}

function downRule(maxCount: number): string {
  return maxCount === 1
    ? 'The agent reverts the latest applied one; if that is not listed here, it changes nothing.'
    : `The agent reverts the ${maxCount} latest applied ones, the newest first; if one of them is not listed here, it changes nothing.`;
}

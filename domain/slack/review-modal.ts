import { storedBundle } from '../migration/stored.js';
import { few } from '../notifications/slack-message.js';
import type { Finding, RiskFactor, ShownContext } from '../request/context.js';
import { mcpClientOf } from '../request/mcp-client.js';
import type { StoredRequest } from '../request/types.js';
import { type Modal, type ModalBlock, plain, section } from './blocks.js';
import { carried } from './carried.js';
import { decisionBlocks } from './decision-blocks.js';
import { factsBlock, note, titledText } from './modals.js';
import { lineOf, shortened, startOf, startOfSql } from './text.js';

const sqlCharacters = 2000;
const planCharacters = 2900;
const listCharacters = 2900;
const mostShown = 5;
const mostChildren = 3;
/** Of the digest: enough to compare with what another channel shows. */
const digestCharacters = 12;

type Reviewed = Pick<
  StoredRequest,
  'id' | 'status' | 'requester' | 'database' | 'environment' | 'operation' | 'detail' | 'dialect' | 'emergency' | 'approvalDigest'
> &
  Pick<StoredRequest, 'policy' | 'currentStep'> & { reason: string | null; metadata: string; shareWith: readonly string[] };

/** What the modal shows beside the request. */
export interface Beside {
  context: ShownContext;
  /** Its migrations that are applied, and when that was seen (MI-45). */
  migrations: { seen_at: string; applied: readonly string[] } | null;
  /** Those that the reviewer has to choose from. */
  selectors: readonly string[];
}

/** SL-20. */
export function reviewModal(request: Reviewed, { context, migrations, selectors }: Beside): Modal {
  const isPending = request.status === 'pending';
  return {
    type: 'modal',
    title: plain('Review request'),
    close: plain(isPending ? 'Cancel' : 'Close'),
    blocks: [
      ...requestBlocks(request, migrations),
      ...contextBlocks(context),
      ...(isPending ? decisionBlocks(selectors) : [section(`This request is ${request.status}: there is nothing to decide.`)]),
    ],
    ...(isPending
      ? { callback_id: 'svc_review_modal', private_metadata: carried(request.id, request.currentStep), submit: plain('Submit') }
      : {}),
  };
}

function requestBlocks(request: Reviewed, migrations: Beside['migrations']): ModalBlock[] {
  const client = mcpClientOf(request.metadata);
  const { shareWith, policy } = request;
  const steps = policy?.steps.length ?? 0;
  const done = migrations?.applied ?? [];
  const bundle = isBundle(request) ? storedBundle(request.detail) : null;
  const shown = bundle === null ? request.detail : filesText(bundle, request, new Set(done));
  const { text, isCut } = startOfSql(shown, sqlCharacters, request.dialect);
  const all = `svc request show ${request.id}`;
  return [
    factsBlock({
      Requester: request.requester,
      Database: `${request.database}/${request.environment}`,
      Operation: request.emergency ? `${request.operation} (emergency)` : request.operation,
      ...(bundle === null ? {} : { Runs: ruleOf(bundle, request) }),
      'Request ID': request.id,
      ...(steps > 1 && request.status === 'pending' ? { Step: `${request.currentStep + 1}/${steps}` } : {}),
      ...(client === null ? {} : { 'Asked by MCP client': client }),
      // Whoever approves a read hands out its result.
      ...(shareWith.length === 0 ? {} : { [`Shared with (${shareWith.length})`]: few(shareWith, mostShown) }),
    }),
    ...(request.reason === null ? [] : titledText('Reason', startOf(request.reason, 1024).text)),
    ...(text === '' ? [] : titledText('SQL', text)),
    ...(isCut ? [note(`This is the beginning. All of it: ${all}`)] : []),
    ...(done.length === 0 ? [] : [note(`${foldedText(done)} at ${migrations?.seen_at}. With their SQL: ${all} --full`)]),
    section(`An approval binds the exact text: digest \`${request.approvalDigest.slice(0, digestCharacters)}\``),
  ];
}

type Bundle = NonNullable<ReturnType<typeof storedBundle>>;
type Asked = Pick<Reviewed, 'operation'>;

const isBundle = ({ operation }: Asked) => operation === 'migrate_up' || operation === 'migrate_down';

/** What is approved with the files: how many of them run. */
function ruleOf({ migrations, maxCount }: Bundle, { operation }: Asked): string {
  const sent = migrations.length === 1 ? '1 file' : `${migrations.length} files`;
  if (operation === 'migrate_down') return `reverts the ${maxCount ?? 1} latest applied of ${sent}`;
  return `applies what is not applied yet of ${sent}${maxCount === null ? '' : `, at most ${maxCount}`}`;
}

/** The files of a migration instead of the JSON around them, without those that are applied; of a revert the latest first, for it begins with that. */
function filesText({ migrations }: Bundle, { operation }: Asked, done: ReadonlySet<string>): string {
  const inOrder = operation === 'migrate_down' ? migrations.toReversed() : migrations;
  return inOrder
    .filter(({ version }) => !done.has(version))
    .map(({ version, sql, transactional }) => `-- ${version}${transactional ? '' : ', without a transaction'}\n${sql}`)
    .join('\n\n');
}

const foldedText = (done: readonly string[]) =>
  done.length === 1 ? `${done[0]} was applied` : `${done.length} migrations from ${done[0]} to ${done.at(-1)} were applied`;

function contextBlocks(context: ShownContext): ModalBlock[] {
  return [
    ...listed('Plan', planLines(context), planCharacters),
    ...listed('Risk', riskLines(context.risk), listCharacters),
    ...listed('Affected tables', tableLines(context.tables), listCharacters),
    ...listed('Review', findingLines(context.sql_review), listCharacters),
    ...(context.status === 'collecting' ? [note('The plan is not there yet: open this again.')] : []),
  ];
}

/** A list that is cut must not look whole: what raises the risk may stand last. */
const listed = (title: string, lines: readonly string[], limit: number): ModalBlock[] =>
  lines.length === 0 ? [] : titledText(title, shortened(lines.join('\n'), limit));

/** What is beyond the first few is counted. */
function firstOf<T>(items: readonly T[], most: number, line: (item: T) => string): string[] {
  const more = items.length - most;
  return [...items.slice(0, most).map(line), ...(more > 0 ? [`and ${more} more`] : [])];
}

const planLines = ({ explain }: ShownContext): string[] =>
  firstOf(explain ?? [], mostShown, (one) => {
    const sql = startOfSql(one.sql.replace(/[\t\n\r ]+/g, ' ').trim(), 100, null);
    const plan = 'plan' in one ? JSON.stringify(one.plan) : `no plan: ${lineOf(one.error)}`;
    return `${sql.text}${sql.isCut ? '…' : ''}\n${plan}`;
  });

function riskLines(risk: unknown): string[] {
  if (!isRisk(risk)) return [];
  const lines = risk.factors.map(({ name, ...more }) => {
    const values = Object.values(more).flat().map(String);
    return lineOf(values.length === 0 ? name : `${name}: ${values.join(', ')}`);
  });
  return [risk.level, ...lines];
}

const tableLines = (tables: readonly unknown[] | null): string[] => firstOf((tables ?? []) as ShownTable[], mostShown, tableLine);

/** Context that was stored is as `namedTables` made it. */
type ShownTable = string | (Sized & { cascade_children?: readonly Sized[]; cascade_children_truncated?: boolean });

interface Sized {
  schema_name: string;
  name: string;
  /** Negative where it is not known. */
  estimated_rows: number;
}

function tableLine(table: ShownTable): string {
  if (typeof table === 'string') return lineOf(table);
  const children = firstOf(table.cascade_children ?? [], mostChildren, (child) => `deletes also from ${sized(child)}`);
  const below = table.cascade_children_truncated ? [...children, 'and from tables below these'] : children;
  return [sized(table), ...below.map((line) => `  ${line}`)].join('\n');
}

const sized = ({ schema_name, name, estimated_rows: rows }: Sized) =>
  `${lineOf(`${schema_name}.${name}`)}${rows < 0 ? '' : ` (about ${rows} rows)`}`;

function findingLines(review: unknown): string[] {
  const { findings } = (review ?? { findings: [] }) as {
    findings: (Pick<Finding, 'message' | 'version'> & { rule: string; level: string })[];
  };
  return firstOf(findings, mostShown, ({ rule, level, message, version }) =>
    lineOf([level, version, `${rule}:`, message].filter(Boolean).join(' ')),
  );
}

const isRisk = (risk: unknown): risk is { level: string; factors: RiskFactor[] } => typeof risk === 'object' && risk !== null;

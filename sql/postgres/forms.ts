import { ddl, type Form, type FormLimits } from '../form.js';
import { type Reason, refuseFor, wordsOfTag } from '../reasons.js';
import type { TreeNode } from '../tree.js';
import type { Refused } from '../verdict.js';
import {
  alterTable,
  clusterOf,
  createTableAs,
  define,
  drop,
  explain,
  reindex,
  rename,
  setSchema,
  transactionControl,
  vacuum,
} from './form-rules.js';
import { setting } from './settings.js';

type Rule = (body: TreeNode, limits: FormLimits) => Form | Reason | Refused;

/** The form of a top-level statement, or why it is refused. A tag without a row is refused (SQ-4). */
export function formOf(tag: string, body: TreeNode, limits: FormLimits): Form | Refused {
  const row = Object.hasOwn(forms, tag) ? forms[tag] : undefined;
  const form = typeof row === 'function' ? row(body, limits) : (row ?? 'not understood');
  return typeof form === 'string' ? refuseFor(form, wordsOfTag(tag)) : form;
}

const dml = (type: string): Form => ({ class: 'write', kind: 'dml', type, inside: 'runs' });
const utility: Form = { class: 'write', kind: 'utility', type: 'DML', inside: 'runs' };
const destructive = (type: string): Form => ({ ...ddl(type), destructive: true });

const forms: Readonly<Record<string, Form | Reason | Rule>> = {
  // read (SQ-20) and as inner statement (SQ-21)
  SelectStmt: { class: 'read', kind: 'query', type: 'SELECT', inside: 'runs' },
  VariableShowStmt: { class: 'read', kind: 'show', type: 'SELECT', inside: 'runs' },
  ExplainStmt: (body, limits) => explain(body, (tag, inner) => formOf(tag, inner, limits)),
  // write (SQ-22)
  InsertStmt: dml('INSERT'),
  UpdateStmt: dml('UPDATE'),
  DeleteStmt: dml('DELETE'),
  MergeStmt: dml('MERGE'),
  CallStmt: utility,
  NotifyStmt: utility,
  RefreshMatViewStmt: utility,
  VacuumStmt: (body) => vacuum(body),
  // ddl (SQ-23, SQ-24)
  CreateStmt: ddl('CREATE'),
  CreateTableAsStmt: (body) => createTableAs(body),
  ViewStmt: ddl('CREATE'),
  IndexStmt: (body) => ({ ...ddl('CREATE'), outsideTransaction: body.concurrent === true }),
  AlterTableStmt: (body) => alterTable(body),
  RenameStmt: (body) => rename(body),
  AlterObjectSchemaStmt: (body) => setSchema(body),
  AlterSeqStmt: ddl('ALTER'),
  CommentStmt: ddl('DDL'),
  ReindexStmt: (body) => reindex(body),
  ClusterStmt: (body) => clusterOf(body),
  DropStmt: (body) => drop(body),
  TruncateStmt: destructive('TRUNCATE'),
  CreateSeqStmt: destructive('CREATE'),
  // setting (SQ-25)
  VariableSetStmt: (body, limits) => setting(body, limits.statementTimeoutSecs),
  // refused: privileges (SQ-26)
  GrantStmt: 'privileges',
  GrantRoleStmt: 'privileges',
  CreateRoleStmt: 'privileges',
  AlterRoleStmt: 'privileges',
  AlterRoleSetStmt: 'privileges',
  DropRoleStmt: 'privileges',
  AlterOwnerStmt: 'privileges',
  ReassignOwnedStmt: 'privileges',
  DropOwnedStmt: 'privileges',
  AlterDefaultPrivilegesStmt: 'privileges',
  CreatePolicyStmt: 'privileges',
  AlterPolicyStmt: 'privileges',
  SecLabelStmt: 'privileges',
  // code (SQ-27)
  CreateFunctionStmt: 'code',
  AlterFunctionStmt: 'code',
  AlterOperatorStmt: 'code',
  CreateOpClassStmt: 'code',
  CreateOpFamilyStmt: 'code',
  AlterOpFamilyStmt: 'code',
  CreateCastStmt: 'code',
  CreateTrigStmt: 'code',
  CreateEventTrigStmt: 'code',
  AlterEventTrigStmt: 'code',
  RuleStmt: 'code',
  CreatePLangStmt: 'code',
  CreateExtensionStmt: 'code',
  AlterExtensionStmt: 'code',
  AlterExtensionContentsStmt: 'code',
  AlterObjectDependsStmt: 'code',
  DoStmt: 'code',
  LoadStmt: 'code',
  DefineStmt: (body) => define(body),
  // infrastructure (SQ-28)
  CreateSchemaStmt: 'infrastructure',
  CreatedbStmt: 'infrastructure',
  AlterDatabaseStmt: 'infrastructure',
  AlterDatabaseSetStmt: 'infrastructure',
  AlterDatabaseRefreshCollStmt: 'infrastructure',
  DropdbStmt: 'infrastructure',
  CreateTableSpaceStmt: 'infrastructure',
  AlterTableSpaceOptionsStmt: 'infrastructure',
  AlterTableMoveAllStmt: 'infrastructure',
  DropTableSpaceStmt: 'infrastructure',
  CompositeTypeStmt: 'infrastructure',
  CreateEnumStmt: 'infrastructure',
  AlterEnumStmt: 'infrastructure',
  CreateRangeStmt: 'infrastructure',
  AlterTypeStmt: 'infrastructure',
  CreateDomainStmt: 'infrastructure',
  AlterDomainStmt: 'infrastructure',
  AlterCollationStmt: 'infrastructure',
  CreateStatsStmt: 'infrastructure',
  AlterStatsStmt: 'infrastructure',
  AlterTSConfigurationStmt: 'infrastructure',
  AlterTSDictionaryStmt: 'infrastructure',
  CreateFdwStmt: 'infrastructure',
  AlterFdwStmt: 'infrastructure',
  CreateForeignServerStmt: 'infrastructure',
  AlterForeignServerStmt: 'infrastructure',
  CreateForeignTableStmt: 'infrastructure',
  ImportForeignSchemaStmt: 'infrastructure',
  CreateUserMappingStmt: 'infrastructure',
  AlterUserMappingStmt: 'infrastructure',
  DropUserMappingStmt: 'infrastructure',
  CreatePublicationStmt: 'infrastructure',
  AlterPublicationStmt: 'infrastructure',
  CreateSubscriptionStmt: 'infrastructure',
  AlterSubscriptionStmt: 'infrastructure',
  DropSubscriptionStmt: 'infrastructure',
  AlterSystemStmt: 'infrastructure',
  // transaction control (SQ-29), locks (SQ-30)
  TransactionStmt: (body) => transactionControl(body),
  ConstraintsSetStmt: 'transaction control',
  LockStmt: 'locks',
  // session state (SQ-31)
  PrepareStmt: 'session state',
  ExecuteStmt: 'session state',
  DeallocateStmt: 'session state',
  DeclareCursorStmt: 'session state',
  FetchStmt: 'session state',
  ClosePortalStmt: 'session state',
  ListenStmt: 'session state',
  UnlistenStmt: 'session state',
  DiscardStmt: 'session state',
  CheckPointStmt: 'session state',
  // server files or client data (SQ-32)
  CopyStmt: 'server files or client data',
};

import type { Operation, WorkflowPolicy } from '../../domain/policies.js';
import type { Creation, CreationInput, Explainable } from '../../domain/request/creation.js';
import type { Dialect } from '../../domain/statement.js';

/** What was asked for, and the dialect it is read in. */
export interface Asked {
  input: CreationInput & { asked: Operation };
  dialect: Dialect | null;
}

/** What judging a detail found out for its creation (RQ-20, MI-15 to MI-17). */
export interface Content
  extends Pick<Creation, 'operation' | 'statementType' | 'risk' | 'review' | 'bypass' | 'dirSha256' | 'searchPath' | 'context'> {
  /** The workflow policy in force for the operation. */
  matched: WorkflowPolicy | null;
  /** Whether an agent can hold it to a number of rows (HD-25). */
  bounded: boolean;
  /** Whether the caller holds every permission that creating it needs (RQ-21). */
  permitted: boolean;
  /** Statements that EXPLAIN takes (AG-65), with the reason where no agent is asked. */
  explainable: Explainable[];
}

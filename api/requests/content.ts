import type { Operation, WorkflowPolicy } from '../../domain/policies.js';
import type { Creation, CreationInput, Explainable } from '../../domain/request/creation.js';
import type { Dialect } from '../../domain/statement.js';

/** A creation's input and the dialect of its SQL. */
export interface Asked {
  input: CreationInput & { asked: Operation };
  dialect: Dialect | null;
}

/** What judging a detail contributes to its creation (RQ-20, MI-15 to MI-17). */
export interface Content
  extends Pick<Creation, 'operation' | 'statementType' | 'risk' | 'review' | 'bypass' | 'dirSha256' | 'searchPath' | 'context'> {
  /** The workflow policy in force for the operation. */
  matched: WorkflowPolicy | null;
  /** Whether an agent can enforce a row limit on it (HD-25). */
  bounded: boolean;
  /** Whether the caller holds every permission that this creation needs (RQ-21). */
  permitted: boolean;
  /** Statements that EXPLAIN accepts (AG-65), each with the reason if no agent is asked. */
  explainable: Explainable[];
}

import { nodeText, type PlanNode, planTree } from '../format/plan.js';
import { Name, Text } from './text.js';

/** A plan as a tree: what is done first stands deepest. */
export function PlanTree({ plan }: { plan: unknown }) {
  const nodes = planTree(plan);
  if (nodes.length === 0) return <p class="quiet">The plan has a form that this page does not know.</p>;
  return <Nodes of={nodes} />;
}

function Nodes({ of }: { of: readonly PlanNode[] }) {
  return (
    <ul class="plan">
      {of.map((node, index) => (
        <li key={index}>
          <span class={node.what === 'Seq Scan' || node.what === 'ALL' ? 'whole-table' : ''}>
            <Text of={nodeText(node)} />
          </span>
          {node.filter !== '' && (
            <span class="quiet">
              {' '}
              <Name of={node.filter} />
            </span>
          )}
          {node.parts.length > 0 && <Nodes of={node.parts} />}
        </li>
      ))}
    </ul>
  );
}

// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus and names its active cell
// biome-ignore-all lint/a11y/useSemanticElements: it is no cell of a table
import type { JsonText } from '../../../../lib/json/read.js';
import { visible } from '../../../../lib/visible.js';
import { cellText } from '../../../format/export.js';

/** A longer cell is shown whole in the pane. */
const maxShown = 200;

interface CellProps {
  value: JsonText | undefined;
  id: string;
  column: number;
  isChosen: boolean;
  right: boolean;
  style: { left: string; width: string };
  onChoose: () => void;
  onOpen: () => void;
}

export function Cell({ value, id, column, isChosen, right, style, onChoose, onOpen }: CellProps) {
  const text = cellText(value);
  const kind = text === null ? 'null' : '';
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid takes the keys for all its cells
    <div
      id={id}
      role="gridcell"
      aria-colindex={column + 1}
      aria-selected={isChosen}
      class={`cell ${right ? 'right' : ''} ${kind}`}
      style={style}
      onClick={onChoose}
      onDblClick={onOpen}
    >
      {text === null ? 'NULL' : text.length > maxShown ? `${visible(text.slice(0, maxShown))}…` : visible(text)}
    </div>
  );
}

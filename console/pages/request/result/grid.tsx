// biome-ignore-all lint/a11y/useFocusableInteractive: the grid has the focus and names its active cell
// biome-ignore-all lint/a11y/useSemanticElements: rows and cells out of sight do not exist, which the elements of a table cannot tell
import { useMemo, useRef, useState } from 'preact/hooks';
import type { JsonText } from '../../../../lib/json/read.js';
import { visible } from '../../../../lib/visible.js';
import { cellText } from '../../../format/export.js';
import { columnWidth, filtered, isNumeric, moved, type Place } from '../../../format/grid.js';
import { useVirtual } from '../../../parts/virtual.js';
import { CellPane } from './cell-pane.js';
import { Tools } from './tools.js';

interface GridProps {
  columns: readonly string[];
  types: readonly string[];
  rows: readonly (readonly JsonText[])[];
  /** Of the files that are made of it. */
  name: string;
}

const rowHeight = 28;
const charWidth = 7.4;
const padding = 20;
/** A longer cell is shown whole in the pane. */
const maxShown = 200;

const px = (length: number) => `${length}px`;

/** Shows only the rows and columns in sight, so that 10,000 × 50 scroll as well as ten. Arrow keys move from cell to cell. */
export function Grid({ columns, types, rows, name }: GridProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [wanted, setWanted] = useState('');
  const [at, setAt] = useState<Place>({ row: 0, column: 0 });
  const [isOpen, setIsOpen] = useState(false);
  const shown = useMemo(() => filtered(rows, wanted), [rows, wanted]);
  const shape = useMemo(
    () =>
      columns.map((column, index) => ({
        width: columnWidth(column, rows, index) * charWidth + padding,
        right: isNumeric(types[index], rows, index),
      })),
    [columns, types, rows],
  );
  const getScrollElement = () => scroller.current;
  const vertical = useVirtual({ count: shown.length, getScrollElement, estimateSize: () => rowHeight, overscan: 8 });
  const across = useVirtual({
    count: columns.length,
    getScrollElement,
    estimateSize: (index) => shape[index]?.width ?? 80,
    horizontal: true,
    overscan: 2,
  });
  const cells = across.getVirtualItems();
  const width = across.getTotalSize();
  const go = (place: Place) => {
    setAt(place);
    vertical.scrollToIndex(place.row, { align: 'auto' });
    across.scrollToIndex(place.column, { align: 'auto' });
  };
  const press = (event: KeyboardEvent) => {
    const place = moved(at, event.ctrlKey ? `Control+${event.key}` : event.key, shown.length, columns.length);
    if (place !== null) go(place);
    else if (event.key === 'Enter') setIsOpen(true);
    else return;
    event.preventDefault();
  };
  const value = shown[at.row]?.[at.column];
  return (
    <>
      <Tools columns={columns} rows={shown} total={rows.length} name={name} wanted={wanted} onFilter={setWanted} />
      <div
        class="grid"
        ref={scroller}
        role="grid"
        tabIndex={0}
        aria-label="Result"
        aria-rowcount={shown.length + 1}
        aria-colcount={columns.length}
        aria-activedescendant={value === undefined ? undefined : `cell-${at.row}-${at.column}`}
        onKeyDown={press}
      >
        <div class="grid-head" role="row" aria-rowindex={1} style={{ width: px(width) }}>
          {cells.map(({ index, start, size }) => (
            <div
              key={index}
              role="columnheader"
              aria-colindex={index + 1}
              class={shape[index]?.right ? 'right' : ''}
              style={{ left: px(start), width: px(size) }}
              title={visible(types[index] ?? '')}
            >
              {visible(columns[index] ?? '')}
            </div>
          ))}
        </div>
        <div class="grid-body" role="rowgroup" style={{ width: px(width), height: px(vertical.getTotalSize()) }}>
          {vertical.getVirtualItems().map((row) => (
            <div
              key={row.index}
              role="row"
              aria-rowindex={row.index + 2}
              class="grid-row"
              style={{ top: px(row.start), width: px(width) }}
            >
              {cells.map(({ index, start, size }) => (
                <Cell
                  key={index}
                  value={shown[row.index]?.[index]}
                  id={`cell-${row.index}-${index}`}
                  column={index}
                  isChosen={at.row === row.index && at.column === index}
                  right={shape[index]?.right ?? false}
                  style={{ left: px(start), width: px(size) }}
                  onChoose={() => setAt({ row: row.index, column: index })}
                  onOpen={() => setIsOpen(true)}
                />
              ))}
            </div>
          ))}
        </div>
      </div>
      {isOpen && value !== undefined && (
        <CellPane
          column={columns[at.column] ?? ''}
          type={types[at.column] ?? ''}
          row={at.row + 1}
          value={value}
          onClose={() => setIsOpen(false)}
        />
      )}
    </>
  );
}

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

function Cell({ value, id, column, isChosen, right, style, onChoose, onOpen }: CellProps) {
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

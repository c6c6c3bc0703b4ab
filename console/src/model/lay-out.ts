interface Place {
  column: number;
  row: number;
}

interface Edge {
  from: string;
  to: string;
}

export interface Layout {
  places: Map<string, Place>;
  columns: number;
  rows: number;
}

const SWEEPS = 4;

/** The column is the longest way to a node; the rows follow the middle of its neighbours, so that few lines cross. */
export const layOut = (ids: readonly string[], edges: readonly Edge[]): Layout => {
  const known = new Set(ids);
  const used = edges.filter(({ from, to }) => known.has(from) && known.has(to) && from !== to);
  const columns = new Map<string, number>(ids.map((id) => [id, 0]));
  // A cycle ends after as many rounds as there are nodes.
  for (let round = 0, isMoved = true; isMoved && round < ids.length; round++) {
    isMoved = false;
    for (const { from, to } of used) {
      const least = (columns.get(from) ?? 0) + 1;
      if ((columns.get(to) ?? 0) < least && least < ids.length) {
        columns.set(to, least);
        isMoved = true;
      }
    }
  }
  const levels = [...Map.groupBy(ids, (id) => columns.get(id) ?? 0)]
    .toSorted(([a], [b]) => a - b)
    .map(([, level]) => level);
  const rows = new Map<string, number>();
  const tallest = Math.max(1, ...levels.map((level) => level.length));
  const spread = (level: string[]): void => {
    level.forEach((id, index) => {
      rows.set(id, index + (tallest - level.length) / 2);
    });
  };
  levels.forEach(spread);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const level of sweep % 2 === 0 ? levels : levels.toReversed()) {
      const middle = (id: string): number => {
        const near = used.flatMap(({ from, to }) => (from === id ? [to] : to === id ? [from] : []));
        if (near.length === 0) return rows.get(id) ?? 0;
        return near.reduce((sum, one) => sum + (rows.get(one) ?? 0), 0) / near.length;
      };
      const middles = new Map(level.map((id) => [id, middle(id)]));
      level.sort((a, b) => (middles.get(a) ?? 0) - (middles.get(b) ?? 0));
      spread(level);
    }
  }
  const places = new Map<string, Place>();
  levels.forEach((level, column) => {
    for (const id of level) places.set(id, { column, row: rows.get(id) ?? 0 });
  });
  return { places, columns: Math.max(1, levels.length), rows: tallest };
};

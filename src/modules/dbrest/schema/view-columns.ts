/** A column of a view that is a column of a relation, both by attribute number. */
export interface ViewColumn {
  readonly number: number;
  /** Object id of the relation, itself perhaps a view. */
  readonly table: string;
  readonly column: number;
}

/** Brackets, and the fields of a node tree that matter here; a backslash escapes the next character. */
const TOKEN = /\\.|[({})]|:(?:targetList|resno|resorigtbl|resorigcol|resjunk) (-?[\w<>]+)?/gs;
/** Of the outermost query: the list of one query, the query, its target list, an entry. */
const QUERY_DEPTH = 2;
const ENTRY_DEPTH = 4;

/**
 * Where the columns of a view come from, read from the parse tree of its rule (`pg_rewrite.ev_action`): PostgreSQL
 * notes the origin of every plain column there, through joins and subqueries, as a table and a column number.
 */
export function viewColumns(tree: string): ViewColumn[] {
  const columns: ViewColumn[] = [];
  let depth = 0;
  let inTargets = false;
  let entry: Record<string, string> = {};
  for (const [token, value] of tree.matchAll(TOKEN)) {
    if (token === '(' || token === '{') {
      depth += 1;
      if (inTargets && depth === ENTRY_DEPTH) entry = {};
    } else if (token === ')' || token === '}') {
      if (inTargets && depth === ENTRY_DEPTH) columns.push(...columnOf(entry));
      depth -= 1;
      if (depth === QUERY_DEPTH) inTargets = false;
    } else if (depth === QUERY_DEPTH && token.startsWith(':targetList')) {
      inTargets = true;
    } else if (inTargets && depth === ENTRY_DEPTH && value !== undefined) {
      entry[token.slice(1, token.indexOf(' '))] = value;
    }
  }
  return columns;
}

function columnOf({ resno, resorigtbl, resorigcol, resjunk }: Record<string, string>): ViewColumn[] {
  if (resjunk !== 'false' || resorigtbl === undefined || resorigtbl === '0') return [];
  return [{ number: Number(resno), table: resorigtbl, column: Number(resorigcol) }];
}

/** A change of a row, as the triggers of `gw db setup --watch` announce it. */
interface Announcement {
  /** `schema.table`. */
  readonly table: string;
  /** The key of the row as text of `jsonb`; `undefined`: any row may have changed. */
  readonly key: string | undefined;
}

const FORM = /^\{"table":("(?:[^"\\]|\\.)*"),"op":"[A-Z]+","key":(.*)\}$/s;

/**
 * Reads an announcement. Its key stays text: numbers of JavaScript would not hold all keys. Any role may notify, so what is not as
 * the triggers write it gives `undefined`, or no key.
 */
export function readAnnouncement(payload: string): Announcement | undefined {
  const [, table, key] = FORM.exec(payload) ?? [];
  if (table === undefined || key === undefined) return undefined;
  try {
    return { table: JSON.parse(table) as string, key: isObject(key) ? key : undefined };
  } catch {
    return undefined;
  }
}

function isObject(json: string): boolean {
  if (!json.startsWith('{')) return false;
  JSON.parse(json);
  return true;
}

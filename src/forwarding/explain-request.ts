import type { RequestHead } from './protocol.ts';

interface Fact {
  readonly label: string;
  readonly value: string;
}

/** Returns facts about the head of an HTTP request that would be sent, without credentials. */
export function explainHttpRequest({ head, fields }: Pick<RequestHead, 'head' | 'fields'>): readonly Fact[] {
  const [line = '', ...lines] = fields ? linesOf(fields) : String(head).trimEnd().split('\r\n');
  return [
    { label: 'request', value: line },
    ...lines.map((field) => ({ label: 'header', value: withoutLogin(field) })),
  ];
}

/** Writes the pseudo-fields of HTTP/2 as the request line of HTTP/1. */
function linesOf(fields: readonly string[]): readonly string[] {
  const pseudo = new Map<string, string>();
  const lines: string[] = [];
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] as string;
    const value = Buffer.from(fields[index + 1] as string, 'latin1').toString();
    if (name.startsWith(':')) pseudo.set(name, value);
    else lines.push(`${name}: ${value}`);
  }
  const line = `${pseudo.get(':method')} ${pseudo.get(':path')} HTTP/2`;
  return [line, `:authority: ${pseudo.get(':authority')}`, ...lines];
}

/** Masks credentials in the headers of the request. */
function withoutLogin(field: string): string {
  return field.replace(/^((?:proxy-)?authorization|cookie):(?: (\w+) (?=\S))?.*$/i, (_all, name, scheme) =>
    scheme === undefined ? `${name}: ***` : `${name}: ${scheme} ***`,
  );
}

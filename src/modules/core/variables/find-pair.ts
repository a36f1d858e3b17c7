/** The value of the first `name=value` in a query, as it was sent; the name, in lower case, counts in any case (ngx_http_arg). */
export function findArgument(args: string, name: string): string | undefined {
  for (let at = 0; at < args.length;) {
    const separator = args.indexOf('&', at);
    const end = separator < 0 ? args.length : separator;
    const equals = at + name.length;
    if (args[equals] === '=' && args.slice(at, equals).toLowerCase() === name)
      return args.slice(equals + 1, end);
    at = end + 1;
  }
  return undefined;
}

/**
 * The value of the first `name=value` in a `Cookie` header. A value ends with `;`, what has another name with `,` as well;
 * blanks around `=` do not count, at the end of a value they do (ngx_http_parse_multi_header_lines).
 */
export function findCookie(list: string, name: string): string | undefined {
  for (let at = 0; at < list.length;) {
    const end = at + name.length;
    const isNamed = list.slice(at, end).toLowerCase() === name;
    const mark = isNamed ? skipBlanks(list, end) : at;
    if (isNamed && list[mark] === '=') return valueFrom(list, skipBlanks(list, mark + 1));
    // A name without a value takes the pair behind it along, in nginx too.
    at = nextPair(list, isNamed ? mark + 1 : at);
  }
  return undefined;
}

function valueFrom(list: string, start: number): string {
  const stop = list.indexOf(';', start);
  return list.slice(start, stop < 0 ? list.length : stop);
}

function nextPair(list: string, at: number): number {
  let end = at;
  while (end < list.length && list[end] !== ';' && list[end] !== ',') end++;
  return skipBlanks(list, end + 1);
}

function skipBlanks(text: string, at: number): number {
  let next = at;
  while (text[next] === ' ') next++;
  return next;
}

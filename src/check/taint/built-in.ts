/** What clients can make of built-in variables: by pattern, because automata are made of those. */
const DECODED_PATH = '^/[^\\x00]*$';
/** From the request line as it came: what is special in it is escaped. */
const RAW = '^[^\\x00-\\x20\\x7f]*$';
const RAW_PATH = '^/[^\\x00-\\x20\\x7f]*$';
const HEADER = '^[^\\x00-\\x1f\\x7f]*$';
/** Both nginx and gw refuse other characters in the name of a host. */
const HOST = '^[^\\x00-\\x20/?#@\\x7f]*$';
const ANYTHING = '^[^\\x00]*$';

const NAMED: Readonly<Record<string, string>> = {
  uri: DECODED_PATH,
  document_uri: DECODED_PATH,
  request_filename: DECODED_PATH,
  request_uri: RAW_PATH,
  args: RAW,
  query_string: RAW,
  content_type: HEADER,
  host: HOST,
  http_host: HOST,
  request_body: ANYTHING,
};

const FAMILIES: Readonly<Record<string, string>> = { arg_: RAW, http_: HEADER, cookie_: HEADER };

/** The texts that a client can give a built-in variable, as a pattern; `undefined` where clients have no say. */
export function textsOfClient(variable: string): string | undefined {
  const family = Object.keys(FAMILIES).find((prefix) => variable.startsWith(prefix));
  return NAMED[variable] ?? (family === undefined ? undefined : FAMILIES[family]);
}

/** The decoded path of the request. */
export function isPath(variable: string): boolean {
  return NAMED[variable] === DECODED_PATH && variable !== 'request_filename';
}

import type { Entry } from './entries.ts';
import { escapeHtml } from './html.ts';

const CONTROL_NAMES: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
};

/** The listing as JSON (nginx: ngx_http_autoindex_json). */
export function jsonListing(entries: readonly Entry[]): string {
  const items = entries.map(({ name, kind, modifiedSeconds, sizeBytes }) => {
    const mtime = new Date(modifiedSeconds * 1000).toUTCString();
    const size = kind === 'file' ? `, "size":${sizeBytes}` : '';
    return `{ "name":"${escapeJson(name)}", "type":"${kind}", "mtime":"${mtime}"${size} }`;
  });
  return `[\r\n${items.join(',\r\n')}${items.length > 0 ? '\r\n' : ''}]`;
}

/** The same as a call of a function. */
export function jsonpListing(callback: string, entries: readonly Entry[]): string {
  return `/* callback */\r\n${callback}(${jsonListing(entries)});`;
}

/** The listing as XML (nginx: ngx_http_autoindex_xml). */
export function xmlListing(entries: readonly Entry[]): string {
  const lines = entries.map(({ name, kind, modifiedSeconds, sizeBytes }) => {
    const mtime = `${new Date(modifiedSeconds * 1000).toISOString().slice(0, 19)}Z`;
    const size = kind === 'file' ? ` size="${sizeBytes}"` : '';
    return `<${kind} mtime="${mtime}"${size}>${escapeHtml(name)}</${kind}>\r\n`;
  });
  return `<?xml version="1.0"?>\r\n<list>\r\n${lines.join('')}</list>\r\n`;
}

function escapeJson(text: string): string {
  // eslint-disable-next-line no-control-regex -- control bytes are what it escapes
  return text.replace(/["\\\0-\x1f]/g, (character) => {
    if (character === '"' || character === '\\') return `\\${character}`;
    return (
      CONTROL_NAMES[character] ?? `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
    );
  });
}

/** Internet Explorer, by its `User-Agent`; Opera has called itself so (nginx: ngx_http_process_user_agent). */
export function isMsie(userAgent: string): boolean {
  return /MSIE .{3}/.test(userAgent) && !userAgent.includes('Opera');
}

/** Internet Explorer 4 to 6, but for the 6 that came with Windows XP SP2: they choke on gzip. */
export function isMsie6(userAgent: string): boolean {
  return /MSIE (?:[45]\.|6\.(?!.*SV1))/.test(userAgent) && !userAgent.includes('Opera');
}

/** Chrome, and what is built on it. */
export function isChrome(userAgent: string): boolean {
  return userAgent.includes('Chrome/') && !/Gecko\/|Opera|MSIE .{3}/.test(userAgent);
}

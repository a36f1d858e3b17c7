/** Internet Explorer, by its `User-Agent`; Opera has called itself so (nginx: ngx_http_process_user_agent). */
export function isMsie(userAgent: string): boolean {
  return /MSIE .{3}/.test(userAgent) && !userAgent.includes('Opera');
}

/** Internet Explorer 4 to 6, but for the 6 that came with Windows XP SP2: they choke on gzip. */
export function isMsie6(userAgent: string): boolean {
  if (userAgent.includes('Opera')) return false;
  const last = userAgent.lastIndexOf('MSIE 6.');
  return /MSIE [45]\./.test(userAgent) || (last >= 0 && !userAgent.includes('SV1', last));
}

/** Chrome, and what is built on it. */
export function isChrome(userAgent: string): boolean {
  return userAgent.includes('Chrome/') && !/Gecko\/|Opera|MSIE .{3}/.test(userAgent);
}

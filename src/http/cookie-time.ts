/** The time that `expires=max` stands for in a cookie. nginx has never moved it. */
export const FAR_COOKIE_TIME = 'Thu, 31-Dec-37 23:55:55 GMT';

/** Formats a time this many seconds from now as nginx's ngx_http_cookie_time: `Sat, 21-Nov-26 02:03:21 GMT`. */
export function cookieTime(seconds: number): string {
  const [day, date, month, year = '', time] = new Date(Date.now() + seconds * 1000).toUTCString().split(' ');
  const years = Number(year) > 2037 ? year : year.slice(2);
  return `${day} ${date}-${month}-${years} ${time} GMT`;
}

/** Which part of the picture is seen, and how large. Pure: sizes in pixels of the window. */

export interface Sight {
  x: number;
  y: number;
  scale: number;
}

export interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
}

export const SMALLEST = 0.05;
export const LARGEST = 4;
const READABLE = 0.6;

const clamp = (scale: number): number => Math.min(LARGEST, Math.max(SMALLEST, scale));

/** The whole picture in the window, never larger than life. */
export function fit(picture: { width: number; height: number }, window: { width: number; height: number }): Sight {
  const scale = clamp(Math.min(1, window.width / picture.width, window.height / picture.height));
  return { scale, x: (window.width - picture.width * scale) / 2, y: Math.max(0, (window.height - picture.height * scale) / 2) };
}

/** What is seen at first: everything where it stays readable, else the beginning, as wide as the window. */
export function first(picture: { width: number; height: number }, window: { width: number; height: number }): Sight {
  const whole = fit(picture, window);
  if (whole.scale >= READABLE) return whole;
  const scale = Math.min(1, Math.max(READABLE, window.width / picture.width));
  return { scale, x: Math.max(0, (window.width - picture.width * scale) / 2), y: 0 };
}

/** Larger or smaller by a factor, with one point of the window staying where it is. */
export function zoom(sight: Sight, factor: number, at: { x: number; y: number }): Sight {
  const scale = clamp(sight.scale * factor);
  const grown = scale / sight.scale;
  return { scale, x: at.x - (at.x - sight.x) * grown, y: at.y - (at.y - sight.y) * grown };
}

/** The same, but with a part of the picture in the window: nobody should lose it. */
export function kept(sight: Sight, picture: { width: number; height: number }, window: { width: number; height: number }, part = 80): Sight {
  const along = (at: number, size: number, room: number): number => Math.min(room - part, Math.max(part - size * sight.scale, at));
  return { ...sight, x: along(sight.x, picture.width, window.width), y: along(sight.y, picture.height, window.height) };
}

/** Moved just as far as is needed for a box to be seen; the same where it is seen already. */
export function reveal(sight: Sight, box: Rectangle, window: { width: number; height: number }, margin = 24): Sight {
  const along = (at: number, start: number, size: number, room: number): number => {
    const [first, last] = [at + start * sight.scale, at + (start + size) * sight.scale];
    if (first < margin) return at + margin - first;
    // A box larger than the window is shown from its beginning.
    if (last > room - margin) return at - Math.min(last - (room - margin), first - margin);
    return at;
  };
  return {
    scale: sight.scale,
    x: along(sight.x, box.x, box.width, window.width),
    y: along(sight.y, box.y, Math.min(box.height, 80), window.height),
  };
}

/** How much larger than is usual the browser's user wants texts. What is measured in pixels around them grows with them. */
export const TEXT_SCALE = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;

import createDOMPurify from "dompurify";
import { visibleText } from "../visible.js";

/**
 * The only door by which markup comes into the page: a fragment of elements that show text, and nothing that acts, loads or has a
 * name. What the page's Content-Security-Policy would refuse is not even built.
 */
const TAGS =
  "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong sub sup table tbody td th thead tr ul".split(
    " ",
  );
const ATTRIBUTES = ["href", "class", "start", "align"];
/** Classes are the highlighter's: no text of others dresses up as a part of the page. */
const OWN_CLASS = /^(?:hljs|hljs-[a-z_]+|[a-z]+_|language-[a-z0-9-]+|image)$/;
const ADDRESS = /^(?:https?|mailto):/i;

const purify = createDOMPurify(window);
purify.addHook("afterSanitizeAttributes", (element) => {
  if (element.hasAttribute("class")) {
    const kept = [...element.classList].filter((name) => OWN_CLASS.test(name));
    element.setAttribute("class", kept.join(" "));
  }
  if (element.tagName !== "A") return;
  element.setAttribute("target", "_blank");
  element.setAttribute("rel", "noopener noreferrer nofollow");
});

/** The elements of a piece of HTML that may be shown. */
export function safeFragment(html: string): DocumentFragment {
  const fragment = purify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_ARIA_ATTR: false,
    ALLOW_DATA_ATTR: false,
    ALLOWED_URI_REGEXP: ADDRESS,
    RETURN_DOM_FRAGMENT: true,
  });
  // `&#x202e;` has become a character by now.
  const texts = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    node.nodeValue = visibleText(node.nodeValue ?? "");
  }
  return fragment;
}

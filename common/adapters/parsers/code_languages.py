"""The grammars that read source code: which wheel, which of its nodes are symbols, and which of them hold others."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


@dataclass(frozen=True, slots=True)
class Grammar:
    """Node types of one grammar by role.

    `symbols` are units; `classes` are units while they are small, else opened into header and members; `scopes`
    (namespaces, conditional compilation) are always opened; `wrappers` (decorators, exports, templates) belong to the
    definition inside; `attached` (comments, attributes) belong to the symbol behind them; `plain` never is a unit
    however long. `joint` joins the names of class and member.
    """

    module: str
    symbols: frozenset[str]
    classes: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    attached: frozenset[str] = frozenset({"comment"})
    plain: frozenset[str] = frozenset()
    function: str = "language"
    joint: str = "."


_SCRIPT: Final = Grammar(
    "tree_sitter_javascript",
    symbols=_set(
        "function_declaration generator_function_declaration method_definition function_signature"
        " abstract_method_signature type_alias_declaration enum_declaration"
    ),
    classes=_set("class_declaration abstract_class_declaration interface_declaration class"),
    scopes=_set("internal_module module"),
    wrappers=_set("export_statement ambient_declaration"),
    attached=_set("comment decorator"),
    plain=_set("import_statement"),
)
_C_SYMBOLS: Final = _set("function_definition struct_specifier union_specifier enum_specifier type_definition")
_C_SCOPES: Final = _set(
    "preproc_if preproc_ifdef preproc_else preproc_elif linkage_specification namespace_definition declaration_list"
)
_C_PLAIN: Final = _set("preproc_include")

GRAMMARS: Final[Mapping[str, Grammar]] = {
    "python": Grammar(
        "tree_sitter_python",
        symbols=_set("function_definition"),
        classes=_set("class_definition"),
        wrappers=_set("decorated_definition"),
        plain=_set("import_statement import_from_statement future_import_statement"),
    ),
    "go": Grammar(
        "tree_sitter_go",
        symbols=_set("function_declaration method_declaration type_declaration"),
        plain=_set("import_declaration package_clause"),
    ),
    "java": Grammar(
        "tree_sitter_java",
        symbols=_set(
            "method_declaration constructor_declaration compact_constructor_declaration annotation_type_declaration"
        ),
        classes=_set("class_declaration interface_declaration enum_declaration record_declaration"),
        attached=_set("line_comment block_comment"),
        plain=_set("import_declaration package_declaration"),
    ),
    "javascript": _SCRIPT,
    "typescript": replace(_SCRIPT, module="tree_sitter_typescript", function="language_typescript"),
    "tsx": replace(_SCRIPT, module="tree_sitter_typescript", function="language_tsx"),
    "rust": Grammar(
        "tree_sitter_rust",
        symbols=_set(
            "function_item function_signature_item struct_item enum_item union_item type_item macro_definition"
        ),
        classes=_set("impl_item trait_item"),
        scopes=_set("mod_item foreign_mod_item"),
        attached=_set("line_comment block_comment attribute_item"),
        plain=_set("use_declaration extern_crate_declaration inner_attribute_item"),
        joint="::",
    ),
    "c": Grammar("tree_sitter_c", symbols=_C_SYMBOLS, scopes=_C_SCOPES, plain=_C_PLAIN),
    "cpp": Grammar(
        "tree_sitter_cpp",
        symbols=_set("function_definition enum_specifier type_definition alias_declaration concept_definition"),
        classes=_set("class_specifier struct_specifier union_specifier"),
        scopes=_C_SCOPES,
        wrappers=_set("template_declaration"),
        plain=_C_PLAIN | {"access_specifier"},
        joint="::",
    ),
    "csharp": Grammar(
        "tree_sitter_c_sharp",
        symbols=_set(
            "method_declaration constructor_declaration destructor_declaration"
            " operator_declaration delegate_declaration conversion_operator_declaration"
            " indexer_declaration enum_declaration local_function_statement"
        ),
        classes=_set("class_declaration struct_declaration interface_declaration record_declaration"),
        scopes=_set("namespace_declaration preproc_if preproc_else preproc_elif"),
        plain=_set("using_directive preproc_region preproc_endregion"),
    ),
    "ruby": Grammar(
        "tree_sitter_ruby",
        symbols=_set("method singleton_method"),
        classes=_set("class"),
        scopes=_set("module singleton_class body_statement"),
    ),
    "php": Grammar(
        "tree_sitter_php",
        symbols=_set("function_definition method_declaration"),
        classes=_set("class_declaration interface_declaration trait_declaration enum_declaration"),
        scopes=_set("namespace_definition"),
        plain=_set("text text_interpolation namespace_use_declaration php_tag"),
        function="language_php",
        joint="::",
    ),
    "kotlin": Grammar(
        "tree_sitter_kotlin",
        symbols=_set("function_declaration secondary_constructor type_alias anonymous_initializer"),
        classes=_set("class_declaration object_declaration companion_object"),
        attached=_set("line_comment block_comment annotation"),
        plain=_set("import package_header"),
    ),
    "swift": Grammar(
        "tree_sitter_swift",
        symbols=_set(
            "function_declaration init_declaration deinit_declaration subscript_declaration"
            " protocol_function_declaration typealias_declaration"
        ),
        classes=_set("class_declaration protocol_declaration"),
        attached=_set("comment multiline_comment"),
        plain=_set("import_declaration"),
    ),
    "scala": Grammar(
        "tree_sitter_scala",
        symbols=_set("function_definition function_declaration type_definition given_definition"),
        classes=_set("class_definition object_definition trait_definition enum_definition extension_definition"),
        scopes=_set("package_object package_clause"),
        attached=_set("comment block_comment"),
        plain=_set("import_declaration"),
    ),
}
